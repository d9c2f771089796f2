import { beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import { eraseAccount } from '../../server/account-lifecycle/deletion.ts';
import { eraseDeletedRows } from '../../server/account-lifecycle/erasure.ts';
import { setPassword } from '../../server/account-lifecycle/password-reset.ts';
import { restoreAccount, suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { findOldUsernames, type OldUsername } from '../../server/accounts/old-usernames.ts';
import { type Caller, findCaller } from '../../server/auth/sessions.ts';
import { operations } from '../../server/contract.ts';
import { transact } from '../../server/database/transaction.ts';
import { exportRecords } from '../../server/import-export/export.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { listMessages, removeMessage } from '../../server/messages/messages.ts';
import { changePassword } from '../../server/profile/password.ts';
import { readProfile } from '../../server/profile/profile.ts';
import { listReports } from '../../server/reports/open-reports.ts';
import {
  documentsWith,
  readDictionary,
  refreshDictionary,
} from '../../server/search/dictionary/dictionary.ts';
import { eraseSpace } from '../../server/spaces/space-deletion.ts';
import {
  assertParticipationQuota,
  assertSpaceQuota,
  assertTagQuota,
} from '../../server/spaces/space-quotas.ts';
import { withCallbackAfterQuery } from '../support/after-query.ts';
import { dataSettings, startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { assertConsistent } from '../support/consistency.ts';
import { isPostgresql } from '../support/databases.ts';
import { getError } from '../support/errors.ts';
import { toLines } from '../support/ndjson.ts';
import { pathsWith } from '../support/requests.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { tablesOf } from '../support/tables.ts';
import { useApp } from '../support/use-app.ts';

/** So short that a transaction deletes only one batch of rows. */
const NO_TIME_MS = -1;

const app = useApp({}, { runsMaintenance: false });

let gone: TestUser;
let other: TestUser;
let own: Space;
let hidden: Space;
let foreign: Space;
let message: Message;
/** A message that the deleted account appreciated. */
let stays: Message;
let inOwn: Message;
let ofGoneInOwn: Message;
beforeEach(async () => {
  [gone, other] = [await app.register(), await app.register()];
  own = await createSpace(gone, { title: `Own ${gone.username}`, tags: ['lighthouse', 'sea'] });
  hidden = await createSpace(gone, { visibility: 'private' });
  foreign = await createSpace(other, { title: `Foreign ${other.username}`, tags: ['sea'] });
  await joinSpace(other, own);
  await joinSpace(other, hidden);
  await joinSpace(gone, foreign);
  inOwn = await sendMessage(other, own, 'six words in a deleted space');
  stays = await sendMessage(other, foreign, 'three remaining words');
  message = await sendMessage(gone, foreign, 'three deleted words');
  for (const { message_id } of [inOwn, stays]) {
    await api.appreciateMessage({ client: gone.client, path: { message_id }, throwOnError: true });
  }
  ofGoneInOwn = await sendMessage(gone, own, 'written by the creator of a deleted space');
  for (const { message_id } of [message, ofGoneInOwn]) {
    const target = { client: other.client, path: { message_id }, throwOnError: true } as const;
    await api.appreciateMessage(target);
    await api.reportMessage({ ...target, body: { reason: 'Reported by other' } });
  }
});

/** Returns the keys with which a user deletes their own account. */
const keysOf = async ({ token }: TestUser) => {
  const { engine, config } = app.context;
  const caller = await findCaller(engine, token, config.sessions);
  if (!caller) throw new Error('The session has ended.');
  return { pk: caller.userPk, sessionPk: caller.sessionPk };
};

/** Begins the deletion of an account. The rows of later batches are left. */
const beginErasure = async (user: TestUser) =>
  eraseAccount(app.context.engine, await keysOf(user), NO_TIME_MS);

/** Begins the deletion of the space `own`. The rows of later batches are left. */
const beginErasureOfSpace = async () => {
  const { engine } = app.context;
  const { sessionPk } = await keysOf(gone);
  const { pk } = await engine.db
    .selectFrom('spaces')
    .select('pk')
    .where('space_id', '=', own.space_id)
    .executeTakeFirstOrThrow();
  await eraseSpace(engine, { pk, sessionPk }, NO_TIME_MS);
};

/** Deletes one batch of rows. Returns whether none are left. */
const eraseBatch = () =>
  eraseDeletedRows(app.context.engine, undefined, {
    maxTransactionMs: NO_TIME_MS,
    maxRunMs: NO_TIME_MS,
  });

const eraseAll = async () => {
  while (!(await eraseBatch()));
};

const countRows = async () => {
  const { db, searchIndex } = app.context.engine;
  await searchIndex.update();
  const counts: Record<string, number> = {};
  for (const [database, kind] of [
    [db, 'stored'],
    [searchIndex.db, 'index'],
  ] as const) {
    for (const table of tablesOf(kind)) {
      const { count } = await database
        .selectFrom(table as 'users')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      counts[table] = count;
    }
  }
  return counts;
};

/** Returns the values with which `readEverything` calls operations, by the name of the parameter. */
const parameterValues = (): Record<string, string[]> => ({
  space_id: [own, hidden, foreign].map(({ space_id }) => space_id),
  user_id: [gone.userId, other.userId],
  message_id: [message, stays, inOwn, ofGoneInOwn].map(({ message_id }) => message_id),
  q: ['lighthouse', `own ${gone.username}`, `foreign ${other.username}`],
  tag: ['sea', 'lighthouse'],
});

/** Calls every GET operation of the contract with each value of its required parameters. Returns the responses. */
const readEverything = async ({ headers }: TestUser) => {
  const values = parameterValues();
  const responses: object[] = [];
  for (const operation of operations.filter(({ method }) => method === 'GET')) {
    for (const path of pathsWith(operation, values)) {
      const response = await app.fetch(path, { headers });
      // The id in a problem is random. Readers who follow a space learn of each step, so their position changes.
      const text = (await response.text()).replace(/"(request_id|newer_cursor)":"[^"]*"/g, '');
      responses.push({ operation: operation.operationId, status: response.status, text });
    }
  }
  return responses;
};

/** Checks that a view contains neither the ids of deleted content nor those that replace them during an erasure. */
const assertHides = (seen: unknown, ids: readonly string[]) => {
  const text = JSON.stringify(seen);
  for (const id of [...ids, 'erased:']) expect(text).not.toContain(id);
};

/**
 * Returns everything that the other user can read, the statuses of requests for content of `gone`, and an export. The
 * requests that succeed change data.
 */
const view = async () => {
  const { client } = other;
  const lists = [
    await api.listParticipations({ client }),
    await api.listMessages({ client, query: { space_id: foreign.space_id } }),
    await api.searchSpaces({ client, query: { q: 'own foreign lighthouse user' } }),
    await api.searchSpaces({ client, query: { q: `foreign ${other.username}` } }),
    await api.searchSpacesByTag({ client, path: { tag: 'sea' } }),
    await api.searchSpacesByTag({ client, path: { tag: 'lighthouse' } }),
    await api.getSpace({ client, path: { space_id: foreign.space_id } }),
    await api.getProfile({ client }),
    // Pages of one item: without the conditions, they would be empty.
    await api.listParticipations({ client, query: { limit: 1 } }),
    await api.listParticipations({ client, query: { limit: 1, sort: 'recent' } }),
  ].map(({ data }) => (data && 'newer_cursor' in data ? { ...data, newer_cursor: '' } : data));
  const statuses = [
    await api.getSpace({ client, path: { space_id: own.space_id } }),
    await api.joinSpace({ client, path: { space_id: own.space_id }, body: {} }),
    await api.leaveSpace({ client, path: { space_id: own.space_id } }),
    await api.listMessages({ client, query: { space_id: own.space_id } }),
    await api.deleteMessage({ client, path: { message_id: inOwn.message_id } }),
    await api.appreciateMessage({ client, path: { message_id: message.message_id } }),
    await api.withdrawAppreciation({ client, path: { message_id: message.message_id } }),
    await api.markRead({
      client,
      path: { space_id: foreign.space_id },
      body: { message_id: message.message_id },
    }),
    await api.getUser({ client, path: { user_id: gone.userId } }),
    await api.getProfile({ client: gone.client }),
  ].map(({ response }) => response?.status);
  const exported: object[] = [];
  await exportRecords(app.context.engine, async (record) => void exported.push(record));
  return { lists, statuses, exported, everything: await readEverything(other) };
};

describe('The deletion of an account in several transactions', () => {
  test('removes it from every response with the first one', async () => {
    const before = await countRows();
    await beginErasure(gone);
    expect((await countRows()).users, 'rows are left').toBe(before.users);

    const first = await view();
    const profile = await api.getProfile({ client: other.client, throwOnError: true });
    expect(profile.data.stats).toEqual({
      spaces_created: 1,
      spaces_participated: 1,
      total_words_contributed: 3,
      total_appreciations_received: 0,
    });
    expect(first.lists).toMatchObject([
      { items: [{ space: { space_id: foreign.space_id, participant_count: 1 } }] },
      { items: [{ text: 'three remaining words', appreciation_count: 0 }] },
      expect.any(Array),
      [{ space_id: foreign.space_id, participant_count: 1 }],
      expect.any(Array),
      [],
      { participant_count: 1 },
      expect.any(Object),
      { items: [{ space: { space_id: foreign.space_id } }] },
      { items: [{ space: { space_id: foreign.space_id } }] },
    ]);
    expect(first.statuses).toEqual([404, 404, 404, 404, 404, 404, 404, 404, 404, 401]);
    expect(JSON.stringify(first)).not.toContain(gone.username);
    assertHides(first, [own.space_id, hidden.space_id, gone.userId]);
    assertHides(first, [message.message_id, inOwn.message_id, ofGoneInOwn.message_id]);

    let batches = 0;
    for (; !(await eraseBatch()); batches += 1) expect(await view()).toEqual(first);
    expect(batches).toBeGreaterThan(4);
    expect(await view()).toEqual(first);
  });

  test('leaves no quotation and no mention of it from the first one on', async () => {
    const text = `I agree, @${gone.username}.`;
    const body = { space_id: foreign.space_id, text, reply_to: message.message_id };
    await api.sendMessage({ client: other.client, body, throwOnError: true });
    const newest = async () => {
      const query = { space_id: foreign.space_id, limit: 1 };
      return (await api.listMessages({ client: other.client, query, throwOnError: true })).data
        .items;
    };
    expect(await newest()).toMatchObject([
      { reply_to: { text: message.text }, mentions: [{ user_id: gone.userId }] },
    ]);
    const left = { text, is_reply: true, reply_to: null, mentions: [] };
    await beginErasure(gone);
    for (let isDone = false; !isDone; isDone = await eraseBatch()) {
      expect(await newest()).toMatchObject([left]);
      const answer = api.sendMessage({ client: other.client, body });
      expect(await getError(answer)).toBe('404 message_not_found');
      const exported: object[] = [];
      await exportRecords(app.context.engine, async (record) => void exported.push(record));
      expect(exported).toContainEqual(expect.objectContaining(left));
      const { data } = await api.downloadAccountData({ client: other.client });
      expect(data?.messages).toContainEqual(expect.objectContaining(left));
    }
  });

  test('rejects requests that were authenticated before it', async () => {
    const { engine, config } = app.context;
    const caller = (await findCaller(engine, gone.token, config.sessions)) as Caller;
    await beginErasure(gone);
    const ended = { code: 'unauthenticated' };
    await expect(readProfile(app.context, caller)).rejects.toMatchObject(ended);
    const change = changePassword(
      app.context,
      caller,
      gone.password,
      'staple of the north wind',
      'en',
    );
    await expect(change).rejects.toMatchObject(ended);
    await eraseAll();
  });

  test('leaves no rows of the account, like a deletion in one transaction', async () => {
    const { engine } = app.context;
    const stranger = await app.register();
    const before = await countRows();
    await createSpace(stranger, { tags: ['unique'] });
    await eraseAccount(engine, await keysOf(stranger));
    expect(await countRows()).toMatchObject({ spaces: before.spaces, tags: before.tags });

    await beginErasure(gone);
    await beginErasure(other);
    await eraseAll();
    const { db } = engine;
    for (const table of ['erased_users', 'erased_spaces', 'spaces_to_move'] as const) {
      expect(await db.selectFrom(table).selectAll().execute()).toEqual([]);
    }
    const left = await countRows();
    expect(left).toMatchObject({
      users: Number(before.users) - 3,
      spaces: Number(before.spaces) - 3,
      messages: Number(before.messages) - 4,
      participations: Number(before.participations) - 6,
    });
  });

  test('makes the username and the email address available with the first one', async () => {
    await beginErasure(gone);
    const { username, email, password } = gone;
    const again = await api.register({
      client: app.client(),
      body: { username, email, password },
    });
    expect(again.response?.status).toBe(201);
  });

  test('makes a set-password command in progress report that there is no account', async () => {
    const { engine } = app.context;
    const { pk } = await keysOf(gone);
    let erasure: Promise<void> | undefined;
    const db = withCallbackAfterQuery(engine.db, () => (erasure ??= beginErasure(gone)));
    const resources = { ...app.context, engine: { ...engine, db } };
    expect(await setPassword(resources, gone.email, 'another good password')).toBe(false);
    const stored = engine.db.selectFrom('users').select('password_hash').where('pk', '=', pk);
    expect(await stored.execute()).toEqual([{ password_hash: null }]);
    await eraseAll();
  });

  test('is finished before an import, which can restore the account', async () => {
    const { engine } = app.context;
    const records: object[] = [];
    await exportRecords(engine, async (record) => void records.push(record));
    await beginErasure(gone);
    await importRecords(engine, toLines(records));
    const { data } = await api.listMessages({
      client: other.client,
      query: { space_id: foreign.space_id },
    });
    expect(data?.items.map(({ text }) => text)).toEqual([
      'three deleted words',
      'three remaining words',
    ]);
  });

  test('is finished before an import, even if it begins while the import waits for its input', async () => {
    const { engine } = app.context;
    const records: object[] = [];
    await exportRecords(engine, async (record) => void records.push(record));
    async function* slowLines() {
      await beginErasure(gone);
      yield* toLines(records);
    }
    await importRecords(engine, slowLines());
    const { data } = await api.listMessages({
      client: other.client,
      query: { space_id: foreign.space_id },
    });
    expect(data?.items.map(({ text }) => text)).toEqual([
      'three deleted words',
      'three remaining words',
    ]);
    await assertConsistent(engine);
  });
});

describe('The deletion of a space in several transactions', () => {
  test('removes it from every response with the first one', async () => {
    await beginErasureOfSpace();
    const statsOf = async ({ client }: TestUser) =>
      (await api.getProfile({ client, throwOnError: true })).data.stats;
    const observe = async () => [await view(), await statsOf(gone), await readEverything(gone)];
    // The first view withdraws an appreciation of a message that stays.
    await view();
    const first = await observe();
    expect(await statsOf(gone)).toMatchObject({ spaces_created: 1 });
    expect(await statsOf(other)).toMatchObject({
      total_words_contributed: 3,
      total_appreciations_received: 1,
    });
    expect(JSON.stringify(first)).not.toContain(own.title);
    assertHides(first, [own.space_id, inOwn.message_id, ofGoneInOwn.message_id]);
    let batches = 0;
    for (; !(await eraseBatch()); batches += 1) expect(await observe()).toEqual(first);
    expect(batches).toBeGreaterThan(1);
  });

  test('is not undone if its creator is suspended and restored meanwhile', async () => {
    const { engine } = app.context;
    const { client } = other;
    const space = await createSpace(gone, { title: 'Quicksilver', tags: ['mercury'] });
    const { pk } = await engine.db
      .selectFrom('spaces')
      .select('pk')
      .where('space_id', '=', space.space_id)
      .executeTakeFirstOrThrow();
    const { sessionPk } = await keysOf(gone);
    await eraseAll();
    await eraseSpace(engine, { pk, sessionPk }, NO_TIME_MS);
    do {
      await suspendAccount(engine, gone.email);
      await restoreAccount(engine, gone.email);
      const byText = await api.searchSpaces({ client, query: { q: 'quicksilver' } });
      const byTag = await api.searchSpacesByTag({ client, path: { tag: 'mercury' } });
      expect([byText.data, byTag.data]).toEqual([[], []]);
    } while (!(await eraseBatch()));
    await assertConsistent(engine);
  });

  test('hides its messages from a request that has already found the space', async () => {
    const { engine, avatars, config } = app.context;
    const caller = await findCaller(engine, other.token, config.sessions);
    let erasure: Promise<void> | undefined;
    const db = withCallbackAfterQuery(engine.db, () => (erasure ??= beginErasureOfSpace()));
    const request = { limit: 10 };
    const resources = { engine: { ...engine, db }, avatars };
    const { items } = await listMessages(resources, caller ?? null, own.space_id, request);
    expect(items).toEqual([]);
  });
});

describe('Content that is being erased', () => {
  test('does not count as an open report', async () => {
    const report = ({ message_id }: Message) =>
      api.reportMessage({ client: other.client, path: { message_id }, body: { reason: 'Spam' } });
    // With the two reports of `beforeEach`, 20: the maximum number of open reports.
    for (let i = 0; i < 18; i += 1) await report(await sendMessage(gone, own, `Spam ${i}`));
    stays = await sendMessage(gone, foreign, 'Spam');
    expect(await getError(report(stays))).toBe('409 too_many_reports');
    await beginErasureOfSpace();
    expect((await report(stays)).response?.status).toBe(200);
  });

  test('does not count against quotas', async () => {
    const { engine, config } = app.context;
    const caller = (await findCaller(engine, gone.token, config.sessions)) as Caller;
    // `hidden` is left, in which `gone` participates, and `foreign`. It has no tags.
    await beginErasureOfSpace();
    const assertQuotas = (maxSpaces: number, maxParticipations: number, maxTags: number) =>
      transact(engine, async (trx) => {
        await assertSpaceQuota(trx, { maxSpaces }, caller);
        await assertParticipationQuota(trx, { maxParticipations }, caller);
        await assertTagQuota(trx, { maxTags }, caller);
      });
    await assertQuotas(2, 3, 0);
    const exceeded = { code: 'quota_exceeded' };
    await expect(assertQuotas(1, 3, 0)).rejects.toMatchObject(exceeded);
    await expect(assertQuotas(2, 2, 0)).rejects.toMatchObject(exceeded);
  });

  test('does not keep a private space from becoming public', async () => {
    const space = await createSpace(other, { visibility: 'private' });
    await joinSpace(gone, space);
    await sendMessage(gone, space, 'three deleted words');
    const publish = () =>
      api.updateSpace({ client: other.client, path: space, body: { visibility: 'public' } });
    expect(await getError(publish())).toBe('409 space_cannot_become_public');
    await beginErasure(gone);
    expect((await publish()).response?.status).toBe(200);
    const query = { space_id: space.space_id };
    const { data } = await api.listMessages({ client: app.client(), query });
    expect(data?.items).toEqual([]);
  });

  test('is unknown to the operator', async () => {
    const { engine } = app.context;
    await beginErasure(gone);
    for (const { message_id } of [message, inOwn, ofGoneInOwn]) {
      expect(await removeMessage(engine, message_id)).toBe(false);
    }
    const { items } = await listReports(engine, { limit: 100 });
    assertHides(items, [message.message_id, ofGoneInOwn.message_id]);
    const { user_id } = await engine.db
      .selectFrom('users')
      .innerJoin('erased_users', 'erased_users.user_pk', 'users.pk')
      .select('users.user_id')
      .executeTakeFirstOrThrow();
    for (const account of [gone.userId, gone.email, user_id]) {
      expect(await suspendAccount(engine, account)).toBe(false);
    }
  });
});

test('Maintenance finishes a deletion that a crash interrupted, and then overwrites the deleted content', async () => {
  const { db } = app.context.engine;
  const { pk } = await keysOf(gone);
  await beginErasure(gone);
  const erasedUsers = () => db.selectFrom('erased_users').select('user_pk').execute();
  expect(await erasedUsers()).toContainEqual({ user_pk: pk });
  await using _ = await startApp(dataSettings(app));
  await expect.poll(erasedUsers).toEqual([]);
  if (!isPostgresql) {
    const pending = () => db.selectFrom('pending_purges').select('id').execute();
    await expect.poll(pending).toEqual([]);
  }
  const rows = await db.selectFrom('users').select('pk').where('pk', '=', pk).execute();
  expect(rows).toEqual([]);
});

test('The operator’s list of old usernames omits an account whose deletion has begun', async () => {
  await beginErasure(gone);
  const found: OldUsername[] = [];
  for await (const each of findOldUsernames(app.context.engine.db)) found.push(each);
  expect(found).toEqual([]);
  await eraseAll();
});

// Last, because the dictionary changes the results of searches.
test('The deletion of an account removes its words from a dictionary rebuilt between its transactions', async () => {
  const { engine } = app.context;
  const countInDictionary = async () => {
    await engine.searchIndex.update();
    await refreshDictionary(engine.searchIndex.engine);
    return documentsWith(await readDictionary(engine.searchIndex), 'lanternfish');
  };
  await createSpace(gone, { title: 'Lanternfish' });
  expect(await countInDictionary()).toBe(1);
  await beginErasure(gone);
  await countInDictionary();
  await eraseAll();
  expect(await countInDictionary()).toBe(0);
});
