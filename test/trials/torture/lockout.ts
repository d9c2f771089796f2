import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../generated/sdk.gen.ts';
import { register, retryingClientOf, type TestUser } from '../../support/client.ts';
import { startServer } from '../../support/server.ts';
import { outcomeOf, tally } from './people.ts';
import type { Trial } from './trial.ts';

/** More concurrent attempts would only wait for password hashing. */
const MAX_CONCURRENT_ATTEMPTS = 4;

/** Most of the logins wait for their delay, not for password hashing. Divides the number of logins. */
const CONCURRENT_LOGINS = 20;

/** Number of wrong passwords that a session may send before it must wait between them. */
const BURST = 100;

/** Maximum Retry-After of a session that has sent too many wrong passwords. */
const MAX_WAIT_SECONDS = 5;

/** The longest delay of a login, and time for the login itself on a busy machine. */
const MAX_LOGIN_SECONDS = 2 + 2;

export const lockout: Trial = {
  promise:
    'Wrong passwords never lock the account. They delay logins, or the session that sends them, by seconds only.',
  runsOnPostgresql: true,
  async run(scale) {
    const attempts = scale === 'full' ? 1000 : 105;
    await using server = await startServer({ RATE_LIMITS: 'on', TRUST_PROXY: '127.0.0.1' });
    const person = await register(server.url, 'ada');
    const start = performance.now();

    const outcomes = await tryWrongPasswords(person, attempts, () =>
      assertUsable(server.url, person),
    );
    const wrong = outcomes.filter(({ status }) => status === 403).length;
    const waiting = outcomes.filter(({ status }) => status === 429).length;
    assert.equal(wrong + waiting, attempts, tally(outcomes));
    // After the burst, one attempt is accepted every few seconds.
    const maxWrong = BURST + 1 + Math.ceil((performance.now() - start) / 1000 / MAX_WAIT_SECONDS);
    assert(
      wrong >= BURST && wrong <= maxWrong,
      `${tally(outcomes)}, not ${BURST} to ${maxWrong} x 403`,
    );
    assert(waiting > 0, 'the limit was never reached');

    // This session succeeds after waiting for Retry-After once.
    let waitedSeconds = 0;
    for (let i = 0; ; i += 1) {
      const newPassword = 'staple of the north wind';
      const { response, error } = await changePassword(person, newPassword);
      if (response?.ok) {
        person.password = newPassword;
        break;
      }
      assert.equal(response?.status, 429, JSON.stringify(error));
      assert.equal(i, 0, 'a second wait was necessary');
      const seconds = Number(response?.headers.get('retry-after'));
      assert(seconds >= 1 && seconds <= MAX_WAIT_SECONDS, `Retry-After: ${seconds}`);
      await sleep(seconds * 1000);
      waitedSeconds += seconds;
    }
    await assertUsable(server.url, person);

    // Another session succeeds while this one must wait.
    await tryWrongPasswords(person, BURST + 5, async () => {});
    assert.equal((await changePassword(person, 'a password too many')).response?.status, 429);
    const other = {
      ...person,
      client: retryingClientOf(server.url, await assertUsable(server.url, person)),
    };
    const newPassword = 'changed from elsewhere';
    assert.equal(
      (await changePassword(other, newPassword)).response?.status,
      200,
      'another session',
    );
    other.password = newPassword;
    await assertUsable(server.url, other);

    const logins = scale === 'full' ? 500 : 100;
    const slowest = await failLoginsEverywhere(server.url, other, logins);

    return `${logins} failed logins from as many networks: all got 401, and those of the owner meanwhile succeeded within ${slowest.toFixed(1)} s; ${attempts} wrong passwords in one session: ${tally(outcomes)}; meanwhile profile, bio and login succeeded; the session changed its password after ${waitedSeconds} s, another session immediately`;
  },
};

/**
 * Fails logins from networks of their own. Meanwhile, logs in with the correct password.
 * @returns the longest time of a correct login in seconds
 */
async function failLoginsEverywhere(
  url: string,
  { email, password }: TestUser,
  count: number,
): Promise<number> {
  const login = (sent: string, network: string) =>
    api.login({
      client: retryingClientOf(url),
      headers: { 'x-forwarded-for': `2001:db8:${network}::1` },
      body: { email, password: sent },
    });
  let slowest = 0;
  let attempts = 0;
  while (attempts < count) {
    const batch = Array.from({ length: CONCURRENT_LOGINS }, (_, i) =>
      login('not the password', (attempts + i).toString(16)),
    );
    attempts += batch.length;
    for (const { response } of await Promise.all(batch)) assert.equal(response?.status, 401);
    const startedAt = performance.now();
    assert.equal((await login(password, 'ffff')).response?.status, 200, 'the owner');
    slowest = Math.max(slowest, (performance.now() - startedAt) / 1000);
  }
  assert(slowest < MAX_LOGIN_SECONDS, `a login of the owner took ${slowest} s`);
  return slowest;
}

/** Sends wrong current passwords. Calls `check` after every 50 of them. */
async function tryWrongPasswords(
  { client }: TestUser,
  count: number,
  check: () => Promise<unknown>,
) {
  const outcomes: ReturnType<typeof outcomeOf>[] = [];
  const body = { currentPassword: 'not the password', newPassword: 'staple of the north wind' };
  let checks = 0;
  while (outcomes.length < count) {
    const batchSize = Math.min(MAX_CONCURRENT_ATTEMPTS, count - outcomes.length);
    const attempts = Array.from({ length: batchSize }, () => api.changePassword({ client, body }));
    outcomes.push(...(await Promise.all(attempts)).map(outcomeOf));
    if (outcomes.length < (checks + 1) * 50) continue;
    await check();
    checks += 1;
  }
  return outcomes;
}

/** Asserts that profile, bio and login work. Returns the token of a new session. */
async function assertUsable(url: string, { client, email, password }: TestUser): Promise<string> {
  assert.equal((await api.getProfile({ client })).response?.status, 200, 'getProfile');
  const bio = await api.changeBio({ client, body: { bio: 'Here.' } });
  assert.equal(bio.response?.status, 200, 'changeBio');
  const { data, response } = await api.login({
    client: retryingClientOf(url),
    body: { email, password },
  });
  assert(data && response, `login returned ${response?.status}`);
  assert.equal(
    (await api.getProfile({ client: retryingClientOf(url, data.access_token) })).response?.status,
    200,
  );
  // Wrong current passwords must not count as failed logins.
  const { headers } = response;
  assert.equal(headers.get('ratelimit-remaining'), headers.get('ratelimit-limit'));
  return data.access_token;
}

function changePassword({ client, password: currentPassword }: TestUser, newPassword: string) {
  return api.changePassword({ client, body: { currentPassword, newPassword } });
}
