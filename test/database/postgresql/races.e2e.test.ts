import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import type { Message, Space } from '../../../generated/types.gen.ts';
import { restoreAccount, suspendAccount } from '../../../server/account-lifecycle/suspension.ts';
import { openSession } from '../../../server/auth/sessions.ts';
import { isAvatarName } from '../../../server/avatars/store.ts';
import { transact } from '../../../server/database/transaction.ts';
import { startApp, type TestApp } from '../../support/app.ts';
import { avatarFile } from '../../support/avatar.ts';
import type { TestUser } from '../../support/client.ts';
import { assertConsistent } from '../../support/consistency.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';
import { createSpace, joinSpace, sendMessage, spaceCreation } from '../../support/spaces.ts';
import { waitForLockWaits } from './lock-waits.ts';

// Two applications in the process of the test stand for two processes of a service. They race at the places that check
// something before they write. The test holds a lock that lets them read but not write, until all have checked.

const QUOTAS = { MAX_SESSIONS: '3', MAX_SPACES: '3', MAX_PARTICIPATIONS: '4' };

let server: PostgresqlServer;
let blocker: pg.Client;
let first: TestApp;
let second: TestApp;
let users = 0;

beforeAll(async () => {
  server = await startPostgresql();
  const url = await server.createDatabase('races');
  first = await startApp({ ...QUOTAS, DATABASE_URL: url }, { runsMaintenance: false });
  second = await startApp(QUOTAS, { sharesDataOf: first });
  blocker = new pg.Client(url);
  await blocker.connect();
});
afterAll(async () => {
  await blocker.end();
  await second[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

interface Result {
  response?: Response;
}

const statusOf = async (call: Promise<Result>) => (await call).response?.status;

const register = () => first.register(`racer-${++users}`);

/** Returns the user's clients for both processes. */
const clientsOf = ({ token }: TestUser) => [first.client(token), second.client(token)] as const;

/** Locks a table against other writers, and runs `work` meanwhile. */
async function blockWrites(table: string, work: () => Promise<void>): Promise<void> {
  await blocker.query('BEGIN');
  try {
    await blocker.query(`LOCK TABLE ${table} IN SHARE MODE`);
    await work();
  } finally {
    await blocker.query('COMMIT');
  }
}

/** Starts calls one after the other. They can write to a table only when all of them wait. Returns their results. */
async function race<T>(table: string, calls: (() => Promise<T>)[]): Promise<T[]> {
  const results: Promise<T>[] = [];
  await blockWrites(table, async () => {
    for (const call of calls) {
      results.push(call());
      await waitForLockWaits(first.context.engine, results.length);
    }
  });
  return Promise.all(results);
}

/** Like `race`, but runs `meanwhile` to its end while the call waits. Returns the result of the call. */
async function interrupt<T>(
  table: string,
  call: () => Promise<T>,
  meanwhile: () => Promise<unknown>,
): Promise<T> {
  const results: Promise<T>[] = [];
  await blockWrites(table, async () => {
    results.push(call());
    await waitForLockWaits(first.context.engine, 1);
    await meanwhile();
  });
  return results[0] as Promise<T>;
}

async function countParticipants(user: TestUser, space_id: string): Promise<number | undefined> {
  const { data } = await api.getSpace({ client: user.client, path: { space_id } });
  return data?.participant_count;
}

describe('With concurrent requests to two processes,', () => {
  test('logins leave an account with at most MAX_SESSIONS sessions', async () => {
    const { userId } = await register();
    const { db } = first.context.engine;
    const find = db.selectFrom('users').select('pk').where('user_id', '=', userId);
    const { pk } = await find.executeTakeFirstOrThrow();
    for (let round = 0; round < 5; round += 1) {
      const open = ({ context }: TestApp) =>
        transact(context.engine, (trx) => openSession(trx, pk, null, { maxSessions: 3 }));
      await race(
        'sessions',
        [first, second, first, second].map((app) => () => open(app)),
      );
      const sessions = await db
        .selectFrom('sessions')
        .select('pk')
        .where('user_pk', '=', pk)
        .execute();
      expect(sessions).toHaveLength(3);
    }
  });

  test('two joins of one user count once', async () => {
    const creator = await register();
    const { space_id } = await createSpace(creator);
    const clients = clientsOf(await register());
    const join = clients.map(
      (client) => () => statusOf(api.joinSpace({ client, path: { space_id }, body: {} })),
    );
    expect(await race('participations', join)).toEqual([200, 200]);
    expect(await countParticipants(creator, space_id)).toBe(2);
  });

  test('two leaves of one user count once', async () => {
    const creator = await register();
    const space = await createSpace(creator);
    const guest = await register();
    await joinSpace(guest, space);
    const path = { space_id: space.space_id };
    const leave = clientsOf(guest).map(
      (client) => () => statusOf(api.leaveSpace({ client, path })),
    );
    expect(await race('participations', leave)).toEqual([200, 200]);
    expect(await countParticipants(creator, space.space_id)).toBe(1);
  });

  test('a removed user who joins again at the same time stays removed', async () => {
    for (let round = 0; round < 4; round += 1) {
      const creator = await register();
      const space = await createSpace(creator);
      const guest = await register();
      await joinSpace(guest, space);
      const { space_id } = space;
      await api.leaveSpace({ client: guest.client, path: { space_id }, throwOnError: true });
      const [client] = clientsOf(guest);
      const [, owner] = clientsOf(creator);
      const user_id = guest.userId;
      const calls = [
        () => statusOf(api.joinSpace({ client, path: { space_id }, body: {} })),
        () => statusOf(api.removeParticipant({ client: owner, path: { space_id, user_id } })),
      ];
      const isJoinFirst = round % 2 === 0;
      const statuses = await race('participations', isJoinFirst ? calls : calls.toReversed());
      const [joined, removed] = isJoinFirst ? statuses : statuses.toReversed();
      expect([200, 403]).toContain(joined);
      expect(removed).toBe(200);
      expect(await countParticipants(creator, space_id)).toBe(1);
    }
  });

  test('a join is rejected if its invitation code is renewed meanwhile', async () => {
    const creator = await register();
    const { space_id, invitation_code } = await createSpace(creator, { visibility: 'private' });
    const [client] = clientsOf(await register());
    const [, owner] = clientsOf(creator);
    const body = { invitation_code: invitation_code as string };
    const status = await interrupt(
      'participations',
      () => statusOf(api.joinSpace({ client, path: { space_id }, body })),
      () => api.renewInvitationCode({ client: owner, path: { space_id }, throwOnError: true }),
    );
    expect(status).toBe(404);
  });

  test('a space that becomes public has no invitation code, even if it is renewed meanwhile', async () => {
    for (let round = 0; round < 4; round += 1) {
      const [one, two] = clientsOf(await register());
      const path = await createSpace({ client: one }, { visibility: 'private' });
      const body = { visibility: 'public' as const };
      const calls = [
        () => statusOf(api.updateSpace({ client: one, path, body })),
        () => statusOf(api.renewInvitationCode({ client: two, path })),
      ];
      const isUpdateFirst = round % 2 === 0;
      const statuses = await race('spaces', isUpdateFirst ? calls : calls.toReversed());
      const [updated, renewed] = isUpdateFirst ? statuses : statuses.toReversed();
      expect(updated).toBe(200);
      expect([200, 409]).toContain(renewed);
      const { data } = await api.getSpace({ client: one, path });
      expect(data).toMatchObject({ visibility: 'public', invitation_code: null });
    }
  });

  test('a space does not become public if another user sends a message to it meanwhile', async () => {
    const creator = await register();
    const space = await createSpace(creator, { visibility: 'private' });
    const guest = await register();
    await joinSpace(guest, space);
    const [owner] = clientsOf(creator);
    const [, client] = clientsOf(guest);
    const status = await interrupt(
      'spaces',
      () =>
        statusOf(
          api.updateSpace({
            client: owner,
            path: { space_id: space.space_id },
            body: { visibility: 'public' },
          }),
        ),
      () => sendMessage({ client }, space, 'In private'),
    );
    expect(status).toBe(409);
  });

  test('a space whose creator is suspended meanwhile is hidden until the suspension ends', async () => {
    const user = await register();
    const [client] = clientsOf(user);
    const status = await interrupt(
      'spaces',
      () => statusOf(api.createSpace({ client, body: spaceCreation({ title: 'Nightfall' }) })),
      () => suspendAccount(second.context.engine, user.email),
    );
    // Like other requests that had begun before the suspension.
    expect(status).toBe(201);
    const find = async ({ client }: TestApp) => {
      const query = { q: 'nightfall' };
      const { data } = await api.searchSpaces({ client: client(), query, throwOnError: true });
      return data.map(({ title }) => title);
    };
    for (const app of [first, second]) expect(await find(app)).toEqual([]);
    await restoreAccount(second.context.engine, user.email);
    for (const app of [first, second]) expect(await find(app)).toEqual(['Nightfall']);
  });

  test('creations of spaces do not exceed MAX_SPACES', async () => {
    const user = await register();
    await createSpace(user);
    await createSpace(user);
    const create = [...clientsOf(user), ...clientsOf(user)].map(
      (client) => () => statusOf(api.createSpace({ client, body: spaceCreation() })),
    );
    expect((await race('spaces', create)).sort()).toEqual([201, 409, 409, 409]);
  });

  test('joins do not exceed MAX_PARTICIPATIONS', async () => {
    const creators = [await register(), await register()] as const;
    const spaces: Space[] = [];
    for (const creator of creators) {
      for (let i = 0; i < 3; i += 1) spaces.push(await createSpace(creator));
    }
    const guest = await register();
    for (const space of spaces.splice(0, 3)) await joinSpace(guest, space);
    const clients = clientsOf(guest);
    const joins = spaces.map(
      ({ space_id }, i) =>
        () =>
          statusOf(
            api.joinSpace({ client: clients[(i % 2) as 0 | 1], path: { space_id }, body: {} }),
          ),
    );
    expect((await race('participations', joins)).sort()).toEqual([200, 409, 409]);
  });

  test('reports do not exceed the limit of open reports', async () => {
    const author = await register();
    const space = await createSpace(author);
    const messages: Message[] = [];
    for (let i = 0; i < 22; i += 1) messages.push(await sendMessage(author, space, `Spam ${i}`));
    const reporter = await register();
    const clients = clientsOf(reporter);
    const report = (i: number) =>
      statusOf(
        api.reportMessage({
          client: clients[(i % 2) as 0 | 1],
          path: { message_id: messages[i]?.message_id as string },
          body: { reason: 'Spam' },
        }),
      );
    for (let i = 0; i < 19; i += 1) await report(i);
    const { db } = first.context.engine;
    for (let round = 0; round < 5; round += 1) {
      const statuses = await race(
        'reports',
        [19, 20, 21].map((i) => () => report(i)),
      );
      expect(statuses.sort()).toEqual([200, 409, 409]);
      await db
        .deleteFrom('reports')
        .where('pk', '=', ({ selectFrom }) =>
          selectFrom('reports').select(({ fn }) => fn.max('pk').as('pk')),
        )
        .execute();
    }
  });

  test('two uploads leave no avatar file without an owner', async () => {
    const user = await register();
    const file = await avatarFile();
    const uploads = clientsOf(user).map(
      (client) => () => statusOf(api.changeProfilePicture({ client, body: { avatar: file } })),
    );
    expect(await race('users', uploads)).toEqual([200, 200]);
    const { engine, config } = first.context;
    const current = await engine.db.selectFrom('users').select('avatar').execute();
    const discarded = await engine.db.selectFrom('discarded_avatars').select('avatar').execute();
    const owned = [...current, ...discarded].map(({ avatar }) => avatar);
    const files = (await readdir(join(config.dataDir, 'avatars'))).filter(isAvatarName);
    expect(files.filter((name) => !owned.includes(name))).toEqual([]);
  });

  test('a tag that is removed from one space and added to another stays on the other', async () => {
    for (let round = 0; round < 10; round += 1) {
      const tags = [`tag${round}`];
      const [one, two] = [await register(), await register()];
      const loses = await createSpace(one, { tags, visibility: 'private' });
      const gets = await createSpace(two, { tags: [], visibility: 'private' });
      const update = (client: TestUser['client'], space_id: string, names: string[]) =>
        statusOf(api.updateSpace({ client, path: { space_id }, body: { tags: names } }));
      const statuses = await race('space_tags', [
        () => update(clientsOf(one)[0], loses.space_id, []),
        () => update(clientsOf(two)[1], gets.space_id, tags),
      ]);
      expect(statuses).toEqual([200, 200]);
      const { data } = await api.getSpace({
        client: two.client,
        path: { space_id: gets.space_id },
      });
      expect(data?.tags.map(({ tag_name }) => tag_name)).toEqual(tags);
    }
    await assertConsistent(first.context.engine);
  });

  test('spaces created with the same new tags in another order share them', async () => {
    const people = [await register(), await register()] as const;
    const create = (client: TestUser['client'], tags: string[]) =>
      api.createSpace({ client, body: spaceCreation({ tags, visibility: 'private' }) });
    const created = await race('tags', [
      () => create(clientsOf(people[0])[0], ['new', 'newer']),
      () => create(clientsOf(people[1])[1], ['newer', 'new']),
    ]);
    const [tags, reversed] = created.map(({ data }) => data?.tags);
    expect(tags).toHaveLength(2);
    expect(reversed?.toReversed()).toEqual(tags);
    await assertConsistent(first.context.engine);
  });

  test('after an edit and a join, the search result has the current number of participants', async () => {
    const creator = await register();
    const { space_id } = await createSpace(creator, { title: 'Counted' });
    const guest = await register();
    const statuses = await race('search_changes', [
      () =>
        statusOf(
          api.updateSpace({
            client: clientsOf(creator)[0],
            path: { space_id },
            body: { tags: ['counting'] },
          }),
        ),
      () => statusOf(api.joinSpace({ client: clientsOf(guest)[1], path: { space_id }, body: {} })),
    ]);
    expect(statuses).toEqual([200, 200]);
    const { data } = await api.searchSpaces({ client: guest.client, query: { q: 'counted' } });
    expect(data?.map(({ participant_count }) => participant_count)).toEqual([2]);
  });

  test('after edits of spaces with the same words, the index matches a rebuild', async () => {
    const people = [await register(), await register(), await register(), await register()];
    const spaces: Space[] = [];
    for (const person of people) {
      spaces.push(await createSpace(person, { title: 'Bread', tags: ['baking'] }));
    }
    for (let round = 0; round < 3; round += 1) {
      const edits = people.map((person, i) => () => {
        const client = clientsOf(person)[(i % 2) as 0 | 1];
        const path = { space_id: spaces[i]?.space_id as string };
        const body = { title: `Bread and river ${round}`, description: `${i} stone harbour` };
        return statusOf(api.updateSpace({ client, path, body }));
      });
      expect(await race('search_changes', edits)).toEqual([200, 200, 200, 200]);
    }
    await assertConsistent(first.context.engine);
  });
});
