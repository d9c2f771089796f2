import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../generated/sdk.gen.ts';
import { register, retryingClientOf, type TestUser } from '../../support/client.ts';
import { startServer } from '../../support/server.ts';
import { outcomeOf, tally } from './people.ts';
import type { Trial } from './trial.ts';

/** Number of logins with the old password during each change. */
const LOGINS_PER_CHANGE = 3;

/** Number of concurrent changes of one password. */
const CONCURRENT_CHANGES = 50;

export const passwords: Trial = {
  promise:
    'After a password change, every session of the old password has ended, and no login with it succeeds.',
  runsOnPostgresql: true,
  async run(scale) {
    const interleavings = scale === 'full' ? 500 : 10;
    await using server = await startServer({ WORKERS: '2' });
    const person = await register(server.url, 'ada');
    await assertOthersEnd(server.url, person);
    const counts = await interleave(server.url, person, interleavings);
    const others = await raceChanges(server.url, await register(server.url, 'grace'));
    return `${interleavings} changes during ${interleavings * LOGINS_PER_CHANGE} logins with the old password: ${counts.ended} sessions created before the change and ended by it, ${counts.rejected} logins rejected, no session left; ${CONCURRENT_CHANGES} concurrent changes of one password: one succeeded, ${others}`;
  },
};

/** Asserts that a change keeps the caller's session and ends the others. */
async function assertOthersEnd(url: string, person: TestUser): Promise<void> {
  const others = [await openSession(url, person), await openSession(url, person)];
  for (const token of [person.token, ...others]) {
    assert.equal(await getProfileStatus(url, token), 200);
  }
  await changePassword(person, randomUUID());
  assert.equal(await getProfileStatus(url, person.token), 200, 'the session that made the change');
  for (const token of others) {
    assert.equal(await getProfileStatus(url, token), 401, 'another session');
  }
}

/** Changes the password repeatedly during logins with the previous one. */
async function interleave(url: string, person: TestUser, times: number) {
  const counts = { ended: 0, rejected: 0 };
  let windowMs = 100;
  for (let i = 0; i < times; i += 1) {
    const { email, password } = person;
    const logins = Array.from({ length: LOGINS_PER_CHANGE }, async () => {
      await sleep(Math.random() * windowMs);
      return api.login({ client: retryingClientOf(url), body: { email, password } });
    });
    const start = performance.now();
    await sleep(Math.random() * windowMs * 0.5);
    const changeStart = performance.now();
    await changePassword(person, randomUUID());
    // Adapts to the speed of the machine, so that logins and change overlap.
    windowMs = Math.min(1000, 1.5 * (performance.now() - changeStart));
    for (const { data, error, response } of await Promise.all(logins)) {
      const context = `interleaving ${i}, after ${Math.round(performance.now() - start)} ms`;
      if (data) {
        assert.equal(
          await getProfileStatus(url, data.access_token),
          401,
          `${context}: session of the old password`,
        );
        counts.ended += 1;
      } else {
        assert.equal(response?.status, 401, `${context}: ${JSON.stringify(error)}`);
        counts.rejected += 1;
      }
    }
    assert.equal(
      await getProfileStatus(url, person.token),
      200,
      'the session that made the change',
    );
    const late = await api.login({ client: retryingClientOf(url), body: { email, password } });
    assert.equal(late.response?.status, 401, 'a login with the old password after the change');
  }
  assert(
    times < 100 || (counts.ended > 0 && counts.rejected > 0),
    'logins did not overlap with the changes',
  );
  return counts;
}

/** Changes one password concurrently from several sessions. Returns the outcomes of the rejected changes. */
async function raceChanges(url: string, person: TestUser): Promise<string> {
  const { email, password: currentPassword } = person;
  const others: string[] = [];
  for (let i = 0; i < 4; i += 1) others.push(await openSession(url, person));
  const tokens = [person.token, ...others];
  const attempts = Array.from({ length: CONCURRENT_CHANGES }, (_, i) => ({
    token: tokens[i % tokens.length] as string,
    newPassword: `concurrent password ${i}`,
  }));
  const outcomes = await Promise.all(
    attempts.map(async ({ token, newPassword }) => {
      const client = retryingClientOf(url, token);
      return outcomeOf(
        await api.changePassword({ client, body: { currentPassword, newPassword } }),
      );
    }),
  );
  const summary = tally(outcomes);
  const accepted = attempts.filter((_, i) => outcomes[i]?.status === 200);
  assert.equal(accepted.length, 1, summary);
  const rejected = outcomes.filter(({ status }) => status !== 200);
  for (const { status } of rejected) assert(status === 401 || status === 403, summary);

  for (const { token, newPassword } of attempts) {
    const isAccepted = newPassword === accepted[0]?.newPassword;
    const login = await api.login({
      client: retryingClientOf(url),
      body: { email, password: newPassword },
    });
    assert.equal(login.response?.status, isAccepted ? 200 : 401, `a login with ${newPassword}`);
    const isActive = token === accepted[0]?.token;
    assert.equal(
      await getProfileStatus(url, token),
      isActive ? 200 : 401,
      'a session that tried a change',
    );
  }
  return tally(rejected);
}

async function changePassword(person: TestUser, newPassword: string): Promise<void> {
  const { client, password: currentPassword } = person;
  const body = { currentPassword, newPassword };
  const { response, error } = await api.changePassword({ client, body });
  assert.equal(response?.status, 200, `changePassword: ${JSON.stringify(error)}`);
  person.password = newPassword;
}

async function openSession(url: string, { email, password }: TestUser): Promise<string> {
  const body = { email, password };
  const { data, error } = await api.login({ client: retryingClientOf(url), body });
  assert(data, `login: ${JSON.stringify(error)}`);
  return data.access_token;
}

/** Returns 200 while the session is active. */
async function getProfileStatus(url: string, token: string): Promise<number | undefined> {
  return (await api.getProfile({ client: retryingClientOf(url, token) })).response?.status;
}
