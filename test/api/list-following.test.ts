import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import { eraseAccount } from '../../server/account-lifecycle/deletion.ts';
import { eraseDeletedRows } from '../../server/account-lifecycle/erasure.ts';
import { restoreAccount, suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { transact } from '../../server/database/transaction.ts';
import { removeAvatarOf } from '../../server/profile/avatar.ts';
import { deleteExpiredEnds } from '../../server/spaces/ended-participations.ts';
import { eraseSpace, removeSpace } from '../../server/spaces/space-deletion.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { isPostgresql } from '../support/databases.ts';
import { getError } from '../support/errors.ts';
import { freshList, ListFollower } from '../support/list-follower.ts';
import { createSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
/** Creates the spaces. */
let ann: TestUser;
/** Participates in the spaces, and follows the list. */
let ben: TestUser;
let space: Space;
let other: Space;
let follower: ListFollower;

beforeEach(async () => {
  [ann, ben] = [await app.register(), await app.register()];
  [space, other] = [await createSpace(ann), await createSpace(ann)];
  for (const each of [space, other]) await joinSpace(ben, each);
  follower = await new ListFollower(ben).start();
});

const engine = () => app.context.engine;

const pathOf = ({ space_id }: Pick<Space, 'space_id'>) => ({ path: { space_id } });

async function expectSameList(): Promise<void> {
  expect(follower.list()).toEqual(await freshList(ben));
}

/** Expects that changes concern these spaces, in this order, and that the follower then has the list of a fresh read. */
async function expectChanges(...spaces: Pick<Space, 'space_id'>[]): Promise<void> {
  expect(await follower.readAll()).toEqual(spaces.map(({ space_id }) => space_id));
  await expectSameList();
}

const findPks = async (spaceId: string, { userId }: TestUser) => {
  const { db } = engine();
  const { pk: spacePk } = await db
    .selectFrom('spaces')
    .select('pk')
    .where('space_id', '=', spaceId)
    .executeTakeFirstOrThrow();
  const { userPk, sessionPk } = await db
    .selectFrom('users')
    .innerJoin('sessions', 'sessions.user_pk', 'users.pk')
    .select(['users.pk as userPk', 'sessions.pk as sessionPk'])
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return { spacePk, userPk, sessionPk };
};

const rename = ({ client }: TestUser, username: string) =>
  api.changeUsername({ client, body: { username }, throwOnError: true });

describe('listParticipations with after', () => {
  test('returns nothing if nothing has changed', async () => {
    const page = await follower.read();
    expect(page).toMatchObject({
      items: [],
      next_cursor: null,
      left_space_ids: [],
      is_complete: true,
      unread: null,
    });
    await sendMessage(ann, await createSpace(ann), 'elsewhere');
    await expectChanges();
  });

  test('returns changed participations as they are now, oldest first', async () => {
    await sendMessage(ann, space, '1');
    await sendMessage(ann, other, '2');
    await sendMessage(ann, other, '3');
    const page = await follower.read();
    expect(page.items).toMatchObject([
      { space: { space_id: space.space_id }, last_message: { text: '1' }, unread_count: 1 },
      { space: { space_id: other.space_id }, last_message: { text: '3' }, unread_count: 2 },
    ]);
    await expectChanges();
  });

  const changes: [string, (message: Message) => Promise<unknown>][] = [
    ['an edited message', ({ message_id }) => edit(message_id)],
    ['a deleted message', ({ message_id }) => remove(message_id)],
    ['another participant', async () => joinSpace(await app.register(), space)],
    ['another title', () => update({ title: 'Coffee' })],
    ['another visibility', () => update({ visibility: 'private' })],
    ['other tags', () => update({ tags: ['coffee'] })],
    ['the read position', ({ message_id }) => markRead(message_id)],
    ['a participant less', async () => deleteParticipant()],
    ['a deleted author', async () => deleteAuthor()],
  ];
  const edit = (message_id: string) => {
    const body = { text: 'Edited' };
    return api.editMessage({ client: ann.client, path: { message_id }, body, throwOnError: true });
  };
  test('returns a space in which an edit of an earlier message mentions the reader', async () => {
    const { message_id } = await sendMessage(ann, space, 'Hello');
    await sendMessage(ann, space, 'later');
    await follower.readAll();
    const body = { text: `@${ben.username}` };
    await api.editMessage({ client: ann.client, path: { message_id }, body, throwOnError: true });
    await expectChanges(space);
  });

  const remove = (message_id: string) =>
    api.deleteMessage({ client: ann.client, path: { message_id }, throwOnError: true });
  const appreciate = (message_id: string) =>
    api.appreciateMessage({ client: ben.client, path: { message_id }, throwOnError: true });
  const update = (body: object) =>
    api.updateSpace({ client: ann.client, ...pathOf(space), body, throwOnError: true });
  const markRead = (message_id: string) => {
    const body = { message_id };
    return api.markRead({ client: ben.client, ...pathOf(space), body, throwOnError: true });
  };
  const deleteParticipant = async () => {
    const third = await app.register();
    await joinSpace(third, space);
    await follower.readAll();
    await api.deleteAccount({ client: third.client, throwOnError: true });
  };
  const deleteAuthor = async () => {
    const author = await app.register();
    await joinSpace(author, space);
    await sendMessage(author, space, 'last');
    await leaveSpace(author, space);
    await follower.readAll();
    await api.deleteAccount({ client: author.client, throwOnError: true });
  };

  test.each(changes)('returns a space with %s', async (_, change) => {
    await sleep(2);
    const message = await sendMessage(ann, space, 'Hello');
    await follower.readAll();
    await change(message);
    await expectChanges(space);
  });

  test('does not return a space because of an appreciation, which the list does not show', async () => {
    const { message_id } = await sendMessage(ann, space, 'Hello');
    await follower.readAll();
    await appreciate(message_id);
    await expectChanges();
  });

  test('returns the spaces of a creator, and those with the last message of an author, with another name', async () => {
    const carl = await app.register();
    await joinSpace(carl, other);
    await sendMessage(carl, other, 'Hello');
    await leaveSpace(carl, other);
    const own = await createSpace(ben);
    await follower.readAll();
    await rename(carl, 'carl the second');
    await expectChanges(other);
    await rename(ben, 'ben the second');
    await expectChanges(own);
    await api.removeProfilePicture({ client: ann.client, throwOnError: true });
    await expectChanges();
    await rename(ann, 'ann the second');
    expect((await follower.readAll()).sort()).toEqual([space.space_id, other.space_id].sort());
    await expectSameList();
  });

  test('returns spaces that the reader joins, leaves and creates', async () => {
    const joined = await createSpace(ann);
    await joinSpace(ben, joined);
    await leaveSpace(ben, space);
    const page = await follower.read();
    expect(page.items).toMatchObject([{ space: { space_id: joined.space_id } }]);
    expect(page.left_space_ids).toEqual([space.space_id]);
    await expectSameList();
    await joinSpace(ben, space);
    const created = await createSpace(ben);
    await expectChanges(space, created);
    const path = { space_id: joined.space_id, user_id: ben.userId };
    await api.removeParticipant({ client: ann.client, path, throwOnError: true });
    await expectChanges(joined);
    await sendMessage(ann, joined, 'without ben');
    await expectChanges();
  });

  test('returns deleted spaces as left, whether or not their rows have been erased', async () => {
    await api.deleteSpace({ client: ann.client, ...pathOf(space), throwOnError: true });
    expect(await follower.read()).toMatchObject({ items: [], left_space_ids: [space.space_id] });
    const { spacePk: pk, sessionPk } = await findPks(other.space_id, ann);
    await eraseSpace(engine(), { pk, sessionPk }, 0);
    const second = await new ListFollower(ben).start();
    second.after = follower.after;
    await expectChanges(other);
    await eraseDeletedRows(engine());
    await expectChanges();
    expect(await second.readAll()).toEqual([other.space_id]);
  });

  test('reports an incomplete page after the account of a creator is deleted', async () => {
    const { userPk: pk, sessionPk } = await findPks(space.space_id, ann);
    const second = await new ListFollower(ben).start();
    await eraseAccount(engine(), { pk, sessionPk }, 0);
    expect(await follower.read()).toMatchObject({ items: [], is_complete: false });
    await expectSameList();
    await eraseDeletedRows(engine());
    await expectChanges();
    expect(await second.read()).toMatchObject({ items: [], is_complete: false });
    expect(second.list()).toEqual([]);
  });

  test('returns hidden spaces as left, without their titles, and restored ones again', async () => {
    await suspendAccount(engine(), ann.userId);
    const page = await follower.read();
    expect(page).toMatchObject({ items: [] });
    expect(page.left_space_ids.sort()).toEqual([space.space_id, other.space_id].sort());
    expect(JSON.stringify(page)).not.toContain(space.title);
    await expectSameList();
    await restoreAccount(engine(), ann.userId);
    expect((await follower.readAll()).length).toBe(2);
    await expectSameList();
  });

  test('returns nothing of a space after the reader has left it or was removed', async () => {
    await leaveSpace(ben, space);
    const path = { space_id: other.space_id, user_id: ben.userId };
    await api.removeParticipant({ client: ann.client, path, throwOnError: true });
    await expectChanges(space, other);
    await sendMessage(ann, space, 'Hello');
    await update({ title: 'Coffee' });
    await rename(ann, 'ann without ben');
    await api.undoRemoval({ client: ann.client, path, throwOnError: true });
    await expectChanges();
    await api.deleteSpace({ client: ann.client, ...pathOf(space), throwOnError: true });
    const { spacePk: pk, sessionPk } = await findPks(other.space_id, ann);
    await eraseSpace(engine(), { pk, sessionPk }, 0);
    await expectChanges();
    await eraseDeletedRows(engine());
    await expectChanges();
  });

  test('returns nothing of the suspension of the creator of a space that the reader has left', async () => {
    for (const each of [space, other]) await leaveSpace(ben, each);
    await expectChanges(space, other);
    await suspendAccount(engine(), ann.userId);
    await restoreAccount(engine(), ann.userId);
    await expectChanges();
  });

  test('returns that the reader has left a space that was deleted afterwards', async () => {
    const second = await new ListFollower(ben).start();
    await leaveSpace(ben, space);
    const { spacePk: pk, sessionPk } = await findPks(space.space_id, ann);
    await eraseSpace(engine(), { pk, sessionPk }, 0);
    await expectChanges(space);
    await eraseDeletedRows(engine());
    await expectChanges();
    expect(await second.readAll()).toEqual([space.space_id]);
  });

  test('returns nothing of a hidden space', async () => {
    const carl = await app.register();
    await joinSpace(carl, space);
    await sendMessage(carl, space, 'Hello');
    await suspendAccount(engine(), ann.userId);
    expect((await follower.readAll()).sort()).toEqual([space.space_id, other.space_id].sort());
    await api.deleteAccount({ client: carl.client, throwOnError: true });
    await expectChanges();
    await removeSpace(engine(), space.space_id);
    await expectChanges();
    await eraseDeletedRows(engine());
    await expectChanges();
  });

  test('returns nothing of the avatar of a suspended creator, except as the author of a last message', async () => {
    const carl = await app.register();
    const own = await createSpace(carl);
    for (const user of [ann, ben]) await joinSpace(user, own);
    await uploadAvatar(ann);
    await sendMessage(ann, own, 'Hello');
    await suspendAccount(engine(), ann.userId);
    await follower.readAll();
    await removeAvatarOf(engine(), ann.userId);
    await expectChanges(own);
  });

  test('returns the last message of a space after the erasure of more messages than a request examines', async () => {
    const author = await app.register();
    await joinSpace(author, space);
    await sendMessage(ann, space, 'Remaining');
    for (let i = 0; i < 101; i += 1) await sendMessage(author, space, 'Deleted');
    await follower.readAll();
    const { userPk: pk, sessionPk } = await findPks(space.space_id, author);
    await eraseAccount(engine(), { pk, sessionPk }, 0);
    await follower.readAll();
    await eraseDeletedRows(engine());
    await follower.readAll();
    await expectSameList();
    expect(follower.list().map((each) => each.last_message?.text)).toContain('Remaining');
  });

  test('returns a lost space to a reader in parts, whatever else changes in it', async () => {
    const [carl, dora] = [await app.register(), await app.register()];
    const lost = await createSpace(carl);
    for (const user of [ben, dora]) await joinSpace(user, lost);
    await sendMessage(dora, lost, 'Hello');
    await follower.readAll();
    await suspendAccount(engine(), carl.userId);
    await sendMessage(ann, space, 'Hello');
    await rename(dora, 'dora the second');
    await follower.read({ limit: 1 });
    await rename(dora, 'dora the third');
    await follower.readAll({ limit: 1 });
    await expectSameList();
  });

  test.each([1, 2, 3])('returns every change in pages of %d', async (limit) => {
    const spaces = [space, other];
    for (let i = 0; i < 4; i += 1) spaces.push(await createSpace(ben));
    await rename(ben, `ben in pages of ${limit}`);
    for (const each of [other, space]) await sendMessage(ben, each, 'Hello');
    const first = await follower.read({ limit });
    expect(first.items.length).toBe(limit);
    // Changes between the pages: of a space that was returned, and of one that was not.
    await sendMessage(ben, first.items[0]?.space as Space, 'again');
    await sendMessage(ben, space, 'again');
    await leaveSpace(ben, other);
    await follower.readAll({ limit });
    await expectSameList();
    await expectChanges();
  });

  test('accepts the cursor of any order, and only its own', async () => {
    const query = { sort: 'recent' as const, limit: 1 };
    const { data } = await api.listParticipations({ client: ben.client, query });
    const after = data?.newer_cursor as string;
    await sendMessage(ann, space, 'Hello');
    const next = await api.listParticipations({ client: ben.client, query: { after } });
    expect(next.data?.items.length).toBe(1);
    const errorOf = (query: object) =>
      getError(api.listParticipations({ client: ben.client, query }));
    expect(await errorOf({ after: data?.next_cursor })).toBe('400 invalid_cursor');
    expect(await errorOf({ after, cursor: data?.next_cursor })).toBe('400 invalid_request');
    expect(await errorOf({ wait: 1 })).toBe('400 invalid_request');
  });

  // SQLite has one writer at a time.
  test.skipIf(!isPostgresql)('returns changes that are committed after later ones', async () => {
    const { spacePk } = await findPks(space.space_id, ann);
    const [entered, leaving] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = transact(engine(), async (trx) => {
      const changed_in = await engine().transactionNumber(trx);
      const update = trx.updateTable('spaces').set({ title: 'Late', changed_in });
      await update.where('pk', '=', spacePk).execute();
      entered.resolve();
      await leaving.promise;
    });
    await entered.promise;
    await sendMessage(ann, other, 'Early');
    await expectChanges(other);
    leaving.resolve();
    await late;
    await expectChanges(space);
  });

  test('reports an incomplete page for a cursor that is older than the kept changes', async () => {
    const { spacePk: pk, sessionPk } = await findPks(space.space_id, ann);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 7 * 86_400_000 });
    try {
      await eraseSpace(engine(), { pk, sessionPk });
      await eraseDeletedRows(engine());
      await deleteExpiredEnds(engine().db);
      expect(await new ListFollower(ben).start()).toBeTruthy();
      vi.setSystemTime(Date.now() + 9 * 86_400_000);
      await deleteExpiredEnds(engine().db);
      const page = await follower.read({ wait: 25 });
      expect(page).toMatchObject({ items: [], left_space_ids: [], is_complete: false });
      await expectSameList();
      expect(await follower.read()).toMatchObject({ is_complete: true });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('listParticipations with wait', () => {
  /** Begins to wait. */
  async function beginWait(user: TestUser = ben) {
    const query = { after: follower.after, wait: 25 };
    const response = api.listParticipations({ client: user.client, query });
    let isDone = false;
    void response.then(() => {
      isDone = true;
    });
    await sleep(50);
    expect(isDone).toBe(false);
    return { page: response.then(({ data }) => data), error: () => getError(response) };
  }

  test('responds when a message is sent to any of the spaces', async () => {
    const { page } = await beginWait();
    await sendMessage(ann, other, 'Hello');
    expect(await page).toMatchObject({ items: [{ last_message: { text: 'Hello' } }] });
  });

  test('responds when the reader joins a space, and when it is deleted', async () => {
    const third = await createSpace(ann);
    const joined = await beginWait();
    await joinSpace(ben, third);
    expect(await joined.page).toMatchObject({ items: [{ space: { space_id: third.space_id } }] });
    await follower.readAll();
    const deleted = await beginWait();
    await api.deleteSpace({ client: ann.client, ...pathOf(third), throwOnError: true });
    expect(await deleted.page).toMatchObject({ left_space_ids: [third.space_id] });
  });

  test('responds to all waits of an account, each with what it does not know yet', async () => {
    const late = follower.after;
    await sendMessage(ann, other, 'Hello');
    await follower.readAll();
    const waits = [await beginWait(), await beginWait()];
    await sendMessage(ann, space, 'Hello');
    for (const { page } of waits) {
      expect((await page)?.items).toMatchObject([{ space: { space_id: space.space_id } }]);
    }
    follower.after = late;
    expect(await follower.readAll()).toEqual([other.space_id, space.space_id]);
  });

  test('responds to changes that no process has announced', async () => {
    const { page } = await beginWait();
    const { spacePk } = await findPks(space.space_id, ann);
    const changed_in = await engine().db.transaction().execute(engine().transactionNumber);
    await engine()
      .db.updateTable('spaces')
      .set({ title: 'Unannounced', changed_in })
      .where('pk', '=', spacePk)
      .execute();
    expect(await page).toMatchObject({ items: [{ space: { title: 'Unannounced' } }] });
  });

  test('requests that change nothing are not announced', async () => {
    await sleep(2);
    const { message_id } = await sendMessage(ann, space, 'Hello');
    const markRead = () => {
      const body = { message_id };
      return api.markRead({ client: ben.client, ...pathOf(space), body, throwOnError: true });
    };
    const appreciation = { client: ben.client, path: { message_id }, throwOnError: true } as const;
    await markRead();
    await api.appreciateMessage(appreciation);
    const stranger = await app.register();
    const subjects: string[] = [];
    engine().onEvent((subject) => subjects.push(subject));
    await markRead();
    await api.appreciateMessage(appreciation);
    await joinSpace(ben, space);
    await leaveSpace(stranger, space);
    const body = { title: space.title };
    await api.updateSpace({ client: ann.client, ...pathOf(space), body, throwOnError: true });
    await rename(ann, ann.username);
    expect(await getError(api.deleteSpace({ client: ben.client, ...pathOf(space) }))).toBe(
      '403 not_space_creator',
    );
    await api.removeProfilePicture({ client: ann.client, throwOnError: true });
    expect(subjects).toEqual([]);
    await sendMessage(ben, space, 'Hello');
    expect(subjects).toEqual([`space:${space.space_id}`]);
  });

  test('ends when the session of the reader ends', async () => {
    const { error } = await beginWait();
    await suspendAccount(engine(), ben.userId);
    expect(await error()).toBe('401 unauthenticated');
  });
});
