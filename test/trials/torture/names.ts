import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../generated/sdk.gen.ts';
import type { Database } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { register, retryingClientOf } from '../../support/client.ts';
import { draw } from '../../support/drawing.ts';
import { startServer } from '../../support/server.ts';
import { type Outcome, outcomeOf, registerAll, tally } from './people.ts';
import type { Trial } from './trial.ts';

const CLAIMS = 50;

/** Number of registrations among the claims. They hash a password first, so they need a head start to win. */
const REGISTRATIONS = 5;

/** Maximum head start of the registrations. */
const MAX_HEAD_START_MS = 150;

/**
 * The equivalent spellings of each letter: capitals, full width, confusables of UTS 39, composed and decomposed marks.
 */
type Alphabet = readonly (readonly string[])[];

const LATIN_LETTERS: Alphabet = [
  'a A ａ Ａ',
  'c C ｃ Ｃ',
  'e E ｅ Ｅ',
  'p P ｐ Ｐ',
  'x X ｘ Ｘ',
  'y Y ｙ Ｙ',
  's S ｓ Ｓ',
  'o O 0 ｏ ０',
  'é É e\u0301 E\u0301 ｅ\u0301',
  'ö Ö o\u0308 O\u0308 0\u0308',
  'l L 1 I ｌ １',
].map((spellings) => spellings.split(' '));

/**
 * Confusable with the Latin letters at the same positions. A username is in one script, because the service rejects
 * mixed scripts before it compares usernames.
 */
const CYRILLIC_LETTERS: Alphabet = [
  'а А',
  'с С',
  'е Е',
  'р Р',
  'х Х',
  'у У',
  'ѕ Ѕ',
  'о О 0 ０',
  'е\u0301 Е\u0301',
  'ӧ Ӧ о\u0308 О\u0308 0\u0308',
  'ӏ Ӏ 1 １',
].map((spellings) => spellings.split(' '));

/**
 * Latin letters, including those that are confusable with other Latin letters only. These come last, so that an index
 * means the same letter in every alphabet.
 */
const ALL_LATIN_LETTERS: Alphabet = [...LATIN_LETTERS, ['m', 'M', 'ｍ', 'rn', 'Rn', 'rN', 'RN']];

export const names: Trial = {
  promise: 'Of many concurrent claims to a username, in any spelling, exactly one succeeds.',
  runsOnPostgresql: true,
  async run(scale) {
    const rounds = scale === 'full' ? 200 : 5;
    await using server = await startServer({ WORKERS: '2' });
    await using engine = await openDatabase(server.location, { purpose: 'command' });
    const people = await registerAll(CLAIMS - REGISTRATIONS, (i) =>
      register(server.url, `claimant-${i}`),
    );
    const anonymous = retryingClientOf(server.url);
    const used = new Set<string>();
    let registered = 0;
    let spellings = 0;

    for (let round = 0; round < rounds; round += 1) {
      const before = await readOwners(engine.db);
      const claimed = drawSpellings(used, round % 3 !== 0);
      spellings += new Set(claimed).size;
      const claims = claimed.map(async (username, i): Promise<[string, Outcome]> => {
        const person = people[i - REGISTRATIONS];
        if (person) {
          await sleep(Math.random() * MAX_HEAD_START_MS * (round % 2));
          const { client } = person;
          const response = await api.changeUsername({ client, body: { username } });
          return [username, outcomeOf(response)];
        }
        const email = `r${round}.${i}@example.org`;
        const body = { username, email, password: 'correct horse battery' };
        const response = await api.register({ client: anonymous, body });
        return [username, outcomeOf(response)];
      });
      const outcomes = await Promise.all(claims);

      const summary = `round ${round}, ${tally(outcomes.map(([, outcome]) => outcome))}`;
      const won = outcomes.filter(([, { status }]) => status === 200 || status === 201);
      const lost = outcomes.filter(
        ([, { status, code }]) => status === 409 && code === 'username_taken',
      );
      const winners = won.map(([username]) => username);
      assert.equal(won.length, 1, `${summary}: ${JSON.stringify(winners)}`);
      assert.equal(lost.length, CLAIMS - 1, summary);
      if (won[0]?.[1].status === 201) registered += 1;

      // Only the username of the successful claim is stored, and no other username has changed.
      const after = await readOwners(engine.db);
      const changed = [...after].filter(([user, name]) => before.get(user) !== name);
      const names = changed.map(([, name]) => name);
      assert.deepEqual(names, [winners[0]?.normalize('NFC')], summary);
    }
    const byChange = rounds - registered;
    return `${rounds} names, each claimed ${CLAIMS} times concurrently through 2 workers in ${Math.round(spellings / rounds)} spellings: one owner each (${byChange} by changing, ${registered} by registering), 409 for the other ${rounds * (CLAIMS - 1)}`;
  },
};

/** Returns random spellings of a new username, one for each claim. */
function drawSpellings(used: Set<string>, inTwoScripts: boolean): string[] {
  const first = inTwoScripts ? LATIN_LETTERS : ALL_LATIN_LETTERS;
  let letters: number[];
  do letters = Array.from({ length: 8 }, () => Math.floor(Math.random() * first.length));
  while (used.has(letters.join(' ')));
  used.add(letters.join(' '));
  return Array.from({ length: CLAIMS }, () => {
    const alphabet = inTwoScripts && Math.random() < 0.5 ? CYRILLIC_LETTERS : first;
    return letters.map((letter) => draw(alphabet[letter] as readonly string[])).join('');
  });
}

async function readOwners(db: Database): Promise<Map<string, string>> {
  const rows = await db.selectFrom('users').select(['user_id', 'username']).execute();
  return new Map(rows.map(({ user_id, username }) => [user_id, username]));
}
