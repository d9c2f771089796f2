import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../generated/sdk.gen.ts';
import { startServer } from '../support/server.ts';
import { clientOf, insist, outcomeOf, type Person, signUp, tally } from './people.ts';
import type { Trial } from './trial.ts';

/** Logins with the old password around one change, and other sessions that claim to change it. */
const LOGINS = 3;
const CHANGES = 50;

export const passwords: Trial = {
  promise: 'Once a password is changed, whatever the old one opened or opens is shut.',
  async run(scale) {
    const interleavings = scale === 'full' ? 500 : 10;
    await using server = await startServer({ WORKERS: '2' });
    const person = await signUp(server.url, 'ada');
    await assertOthersEnd(server.url, person);
    const seen = await interleave(server.url, person, interleavings);
    const others = await raceChanges(server.url, await signUp(server.url, 'grace'));
    return `${interleavings} changes under ${interleavings * LOGINS} logins with the old password: ${seen.ended} sessions opened before the change and ended by it, ${seen.refused} logins refused, none alive afterwards; ${CHANGES} changes of one account at once: one done, ${others}`;
  },
};

/** The plain case: the caller's session stays, the others end. */
async function assertOthersEnd(url: string, person: Person): Promise<void> {
  const others = [await openSession(url, person), await openSession(url, person)];
  for (const token of [person.token, ...others]) assert.equal(await statusOf(url, token), 200);
  await change(person, randomUUID());
  assert.equal(await statusOf(url, person.token), 200, 'the session that made the change');
  for (const token of others) assert.equal(await statusOf(url, token), 401, 'another session');
}

/** Changes the password again and again, while others log in with the one before. */
async function interleave(url: string, person: Person, times: number) {
  const seen = { ended: 0, refused: 0 };
  let span = 100;
  for (let i = 0; i < times; i += 1) {
    const { email, password } = person;
    const logins = Array.from({ length: LOGINS }, async () => {
      await sleep(Math.random() * span);
      return insist(() => api.login({ client: clientOf(url), body: { email, password } }));
    });
    const begun = performance.now();
    await sleep(Math.random() * span * 0.5);
    const asked = performance.now();
    await change(person, randomUUID());
    // Both take as long as the machine lets them: what matters is that they overlap.
    span = Math.min(1000, 1.5 * (performance.now() - asked));
    for (const { data, error, response } of await Promise.all(logins)) {
      const told = `interleaving ${i}, after ${Math.round(performance.now() - begun)} ms`;
      if (data) {
        assert.equal(await statusOf(url, data.access_token), 401, `${told}: opened by the old one`);
        seen.ended += 1;
      } else {
        assert.equal(response?.status, 401, `${told}: ${JSON.stringify(error)}`);
        seen.refused += 1;
      }
    }
    assert.equal(await statusOf(url, person.token), 200, 'the session that made the change');
    const late = await insist(() =>
      api.login({ client: clientOf(url), body: { email, password } }),
    );
    assert.equal(late.response?.status, 401, 'a login with the old password after the change');
  }
  assert(times < 100 || (seen.ended > 0 && seen.refused > 0), 'logins came before and after');
  return seen;
}

/** Has many change one password at once, from one session and from others. Answers with what the losers got. */
async function raceChanges(url: string, person: Person): Promise<string> {
  const { email, password: currentPassword } = person;
  const others: string[] = [];
  for (let i = 0; i < 4; i += 1) others.push(await openSession(url, person));
  const tokens = [person.token, ...others];
  const attempts = Array.from({ length: CHANGES }, (_, i) => ({
    token: tokens[i % tokens.length] as string,
    newPassword: `one of the fifty, ${i}`,
  }));
  const answers = await Promise.all(
    attempts.map(async ({ token, newPassword }) => {
      const client = clientOf(url, token);
      return outcomeOf(
        await insist(() => api.changePassword({ client, body: { currentPassword, newPassword } })),
      );
    }),
  );
  const told = tally(answers);
  const winners = attempts.filter((_, i) => answers[i]?.status === 200);
  assert.equal(winners.length, 1, told);
  const losers = answers.filter(({ status }) => status !== 200);
  for (const { status } of losers) assert(status === 401 || status === 403, told);

  for (const { token, newPassword } of attempts) {
    const isWinner = newPassword === winners[0]?.newPassword;
    const login = await insist(() =>
      api.login({ client: clientOf(url), body: { email, password: newPassword } }),
    );
    assert.equal(login.response?.status, isWinner ? 200 : 401, `a login with ${newPassword}`);
    const isAlive = token === winners[0]?.token;
    assert.equal(await statusOf(url, token), isAlive ? 200 : 401, 'a session of one that changed');
  }
  return tally(losers);
}

async function change(person: Person, newPassword: string): Promise<void> {
  const { client, password: currentPassword } = person;
  const body = { currentPassword, newPassword };
  const { response, error } = await insist(() => api.changePassword({ client, body }));
  assert.equal(response?.status, 200, `a change: ${JSON.stringify(error)}`);
  person.password = newPassword;
}

async function openSession(url: string, { email, password }: Person): Promise<string> {
  const body = { email, password };
  const { data, error } = await insist(() => api.login({ client: clientOf(url), body }));
  assert(data, `a login: ${JSON.stringify(error)}`);
  return data.access_token;
}

/** What the session's profile is answered with: 200 while it lives. */
async function statusOf(url: string, token: string): Promise<number | undefined> {
  return (await insist(() => api.getProfile({ client: clientOf(url, token) }))).response?.status;
}
