import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import * as api from '../../generated/sdk.gen.ts';
import { databaseFile } from '../support/integrity.ts';
import { startServer } from '../support/server.ts';
import { clientOf, insist, type Outcome, outcomeOf, signUpAll, tally } from './people.ts';
import type { Trial } from './trial.ts';

const CLAIMS = 50;

/** How many of the claims are registrations. Each costs a hash, so they need a start to win. */
const REGISTRATIONS = 5;

/** How much later the changes come at most, in milliseconds. */
const START = 150;

/**
 * What each letter of a name may be written as, and still be that letter to whoever looks: capitals, full width,
 * look-alikes by UTS 39, marks composed and not.
 */
type Alphabet = readonly (readonly string[])[];

const LATIN_LETTERS: Alphabet = [
  ...['a A ａ Ａ', 'c C ｃ Ｃ', 'e E ｅ Ｅ', 'p P ｐ Ｐ', 'x X ｘ Ｘ', 'y Y ｙ Ｙ', 's S ｓ Ｓ'],
  ...['o O 0 ｏ ０', 'é É e\u0301 E\u0301 ｅ\u0301', 'ö Ö o\u0308 O\u0308 0\u0308'],
].map((forms) => forms.split(' '));

/** In the order of the Latin ones. A name is in one script, or else it is refused before it is compared. */
const CYRILLIC_LETTERS: Alphabet = [
  ...['а А', 'с С', 'е Е', 'р Р', 'х Х', 'у У', 'ѕ Ѕ'],
  ...['о О 0 ０', 'е\u0301 Е\u0301', 'ӧ Ӧ о\u0308 О\u0308 0\u0308'],
].map((forms) => forms.split(' '));

/** Those that look like other Latin ones. */
const LATIN_ALONE: Alphabet = [
  ...['m M ｍ rn Rn rN RN', 'l L 1 I ｌ １'].map((forms) => forms.split(' ')),
  ...LATIN_LETTERS,
];

export const names: Trial = {
  promise: 'However many claim a name at once, in whatever form, it has one owner.',
  async run(scale) {
    const rounds = scale === 'full' ? 200 : 5;
    await using server = await startServer({ WORKERS: '2' });
    const people = await signUpAll(server.url, CLAIMS - REGISTRATIONS, 'claimant');
    const strangers = clientOf(server.url);
    const used = new Set<string>();
    let registered = 0;
    let forms = 0;

    for (let round = 0; round < rounds; round += 1) {
      const before = readOwners(server.dataDir);
      const claimed = drawForms(used, round % 3 !== 0);
      forms += new Set(claimed).size;
      const claims = claimed.map(async (username, i): Promise<[string, Outcome]> => {
        const person = people[i - REGISTRATIONS];
        if (person) {
          await sleep(Math.random() * START * (round % 2));
          const { client } = person;
          const answer = await insist(() => api.changeUsername({ client, body: { username } }));
          return [username, outcomeOf(answer)];
        }
        const body = { email: `r${round}.${i}@example.org`, password: 'correct horse battery' };
        const answer = await insist(() =>
          api.register({ client: strangers, body: { username, ...body } }),
        );
        return [username, outcomeOf(answer)];
      });
      const outcomes = await Promise.all(claims);

      const told = `round ${round}, ${tally(outcomes.map(([, outcome]) => outcome))}`;
      const won = outcomes.filter(([, { status }]) => status === 200 || status === 201);
      const lost = outcomes.filter(
        ([, { status, code }]) => status === 409 && code === 'username_taken',
      );
      const winners = won.map(([username]) => username);
      assert.equal(won.length, 1, `${told}: ${JSON.stringify(winners)}`);
      assert.equal(lost.length, CLAIMS - 1, told);
      if (won[0]?.[1].status === 201) registered += 1;

      // What is stored is what was answered: the winner's name is there, and nothing else has changed.
      const after = readOwners(server.dataDir);
      const changed = [...after].filter(([user, name]) => before.get(user) !== name);
      const names = changed.map(([, name]) => name);
      assert.deepEqual(names, [winners[0]?.normalize('NFC')], told);
    }
    const byChange = rounds - registered;
    return `${rounds} names, each claimed ${CLAIMS} times at once through 2 workers in ${Math.round(forms / rounds)} forms: one owner each (${byChange} by a change, ${registered} by registering), 409 for the other ${rounds * (CLAIMS - 1)}`;
  },
};

/** The forms of a name that was not used before, one for each claim. */
function drawForms(used: Set<string>, inTwoScripts: boolean): string[] {
  const first = inTwoScripts ? LATIN_LETTERS : LATIN_ALONE;
  let letters: number[];
  do letters = Array.from({ length: 8 }, () => Math.floor(Math.random() * first.length));
  while (used.has(letters.join(' ')));
  used.add(letters.join(' '));
  return Array.from({ length: CLAIMS }, () => {
    const alphabet = inTwoScripts && Math.random() < 0.5 ? CYRILLIC_LETTERS : first;
    return letters.map((letter) => oneOf(alphabet[letter] ?? [])).join('');
  });
}

function oneOf(items: readonly string[]): string {
  return items[Math.floor(Math.random() * items.length)] ?? '';
}

function readOwners(dataDir: string): Map<string, string> {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const rows = sqlite.prepare('SELECT user_id, username FROM users').raw().all();
    return new Map(rows as [string, string][]);
  } finally {
    sqlite.close();
  }
}
