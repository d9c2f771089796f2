import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../generated/sdk.gen.ts';
import { startServer } from '../support/server.ts';
import { clientOf, insist, outcomeOf, type Person, signUp, tally } from './people.ts';
import type { Trial } from './trial.ts';

/** More would wait for each other to be verified. */
const AT_ONCE = 4;

/** Wrong passwords that a session may send before it has to wait between them. */
const FREE = 100;

/** The longest that it may have to wait, in seconds. */
const WAIT = 5;

export const lockout: Trial = {
  promise: 'Wrong passwords lock nobody out: not the account, and the session not for long.',
  async run(scale) {
    const tries = scale === 'full' ? 1000 : 105;
    await using server = await startServer({ RATE_LIMITS: 'on' });
    const person = await signUp(server.url, 'ada');
    const begun = performance.now();

    const outcomes = await tryWrongOnes(person, tries, () => assertUsable(server.url, person));
    const wrong = outcomes.filter(({ status }) => status === 403).length;
    const waiting = outcomes.filter(({ status }) => status === 429).length;
    assert.equal(wrong + waiting, tries, tally(outcomes));
    // After the free ones there is one every few seconds.
    const most = FREE + 1 + Math.ceil((performance.now() - begun) / 1000 / WAIT);
    assert(wrong >= FREE && wrong <= most, `${tally(outcomes)}, not ${FREE} to ${most} x 403`);
    assert(waiting > 0, 'the limit was reached');

    // This session: once it has waited as long as it was told to, and no longer.
    let waited = 0;
    for (let i = 0; ; i += 1) {
      const newPassword = 'staple of the north wind';
      const { response, error } = await change(person, newPassword);
      if (response?.ok) {
        person.password = newPassword;
        break;
      }
      assert.equal(response?.status, 429, JSON.stringify(error));
      assert.equal(i, 0, 'one wait was enough');
      const seconds = Number(response?.headers.get('retry-after'));
      assert(seconds >= 1 && seconds <= WAIT, `Retry-After: ${seconds}`);
      await sleep(seconds * 1000);
      waited += seconds;
    }
    await assertUsable(server.url, person);

    // Another session, while this one is held back.
    await tryWrongOnes(person, FREE + 5, async () => {});
    assert.equal((await change(person, 'a password too many')).response?.status, 429);
    const other = {
      ...person,
      client: clientOf(server.url, await assertUsable(server.url, person)),
    };
    const newPassword = 'changed from elsewhere';
    assert.equal((await change(other, newPassword)).response?.status, 200, 'another session');
    other.password = newPassword;
    await assertUsable(server.url, other);

    return `${tries} wrong passwords in one session: ${tally(outcomes)}; meanwhile profile, bio and login worked; this session's change worked ${waited} s later, another session's at once`;
  },
};

/** Sends so many wrong passwords, and has a look at the account now and then. */
async function tryWrongOnes({ client }: Person, tries: number, look: () => Promise<unknown>) {
  const outcomes: ReturnType<typeof outcomeOf>[] = [];
  const body = { currentPassword: 'not the password', newPassword: 'staple of the north wind' };
  let looked = 0;
  while (outcomes.length < tries) {
    const many = Math.min(AT_ONCE, tries - outcomes.length);
    const answers = Array.from({ length: many }, () =>
      insist(() => api.changePassword({ client, body })),
    );
    outcomes.push(...(await Promise.all(answers)).map(outcomeOf));
    if (outcomes.length < (looked + 1) * 50) continue;
    await look();
    looked += 1;
  }
  return outcomes;
}

/** Holds that the account can be used as ever. Answers with the token of a session opened to see it. */
async function assertUsable(url: string, { client, email, password }: Person): Promise<string> {
  assert.equal(
    (await insist(() => api.getProfile({ client }))).response?.status,
    200,
    'the profile',
  );
  const bio = await insist(() => api.changeBio({ client, body: { bio: 'Here.' } }));
  assert.equal(bio.response?.status, 200, 'a change of the bio');
  const { data, response } = await insist(() =>
    api.login({ client: clientOf(url), body: { email, password } }),
  );
  assert(data && response, `a login, answered ${response?.status}`);
  assert.equal(
    (await api.getProfile({ client: clientOf(url, data.access_token) })).response?.status,
    200,
  );
  // Wrong current passwords are no failed logins.
  const { headers } = response;
  assert.equal(
    headers.get('ratelimit-remaining'),
    String(Number(headers.get('ratelimit-limit')) - 1),
  );
  return data.access_token;
}

function change({ client, password: currentPassword }: Person, newPassword: string) {
  return insist(() => api.changePassword({ client, body: { currentPassword, newPassword } }));
}
