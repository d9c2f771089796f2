import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let mallory: TestUser;
let space: Space;
beforeAll(async () => {
  ann = await app.register('ann');
});
beforeEach(async () => {
  mallory = await app.register();
  space = await createSpace(ann);
  await joinSpace(mallory, space);
});

type Actor = Pick<TestUser, 'client'>;
const pathOf = ({ userId }: TestUser) => ({ user_id: userId });
const block = ({ client }: Actor, user: TestUser) => api.blockUser({ client, path: pathOf(user) });
const unblock = ({ client }: Actor, user: TestUser) =>
  api.unblockUser({ client, path: pathOf(user), throwOnError: true });
const blockedBy = async ({ client }: Actor) =>
  (await api.listBlocks({ client, throwOnError: true })).data.items;
const marksFor = async ({ client }: Actor) => {
  const { data } = await api.listMessages({
    client,
    query: { space_id: space.space_id },
    throwOnError: true,
  });
  return data.items.map(({ text, is_blocked }) => [text, is_blocked]);
};
const mentionsOf = async ({ client }: Actor) => {
  const { data } = await api.getParticipation({ client, path: space, throwOnError: true });
  return data.unread_mentions;
};

describe('blockUser', () => {
  test('marks the messages of the user for the caller only, until unblockUser', async () => {
    await sendMessage(ann, space, 'Mine');
    const { message_id } = await sendMessage(mallory, space, 'Theirs');
    const { data } = await block(ann, mallory);
    expect(data?.user.user_id).toBe(mallory.userId);
    expect((await block(ann, mallory)).data).toEqual(data);
    expect(await blockedBy(ann)).toContainEqual(data);
    expect(await marksFor(ann)).toEqual([
      ['Theirs', true],
      ['Mine', false],
    ]);
    const { client } = ann;
    const message = await api.getMessage({ client, path: { message_id } });
    expect(message.data?.is_blocked).toBe(true);
    expect((await api.getUser({ client, path: pathOf(mallory) })).data?.is_blocked).toBe(true);
    const others = [mallory, { client: app.client() }];
    for (const other of others) expect((await marksFor(other))[0]).toEqual(['Theirs', false]);
    expect(await blockedBy(mallory)).toEqual([]);
    await unblock(ann, mallory);
    await unblock(ann, mallory);
    expect((await marksFor(ann))[0]).toEqual(['Theirs', false]);
    const etag = message.response?.headers.get('etag') ?? '';
    const headers = { 'If-None-Match': etag };
    const again = await api.getMessage({ client, path: { message_id }, headers });
    expect(again.response?.status).toBe(200);
  });

  test('marks messages in what followers get', async () => {
    await block(ann, mallory);
    const query = { space_id: space.space_id };
    const { data: page } = await api.listMessages({
      client: ann.client,
      query,
      throwOnError: true,
    });
    const follow = async ({ client }: Actor) => {
      const following = { ...query, after: page.newer_cursor, wait: 20 };
      const { data } = await api.listMessages({ client, query: following, throwOnError: true });
      return data.items.map(({ text, is_blocked }) => [text, is_blocked]);
    };
    const waiting = [follow(ann), follow(mallory)];
    await sendMessage(mallory, space, 'Hello');
    expect(await Promise.all(waiting)).toEqual([[['Hello', true]], [['Hello', false]]]);
  });

  test('does not confuse the id of a message with that of a user, which imports can make equal', async () => {
    const { db } = app.context.engine;
    const query = { space_id: space.space_id };
    const client = ann.client;
    const { data: page } = await api.listMessages({ client, query, throwOnError: true });
    await block(ann, mallory);
    const { message_id } = await sendMessage(ann, space, 'Mine');
    await api.appreciateMessage({ client: mallory.client, path: { message_id } });
    await db
      .updateTable('messages')
      .set({ message_id: mallory.userId })
      .where('message_id', '=', message_id)
      .execute();
    const following = { ...query, after: page.newer_cursor };
    const { data } = await api.listMessages({ client, query: following, throwOnError: true });
    expect(data.items).toMatchObject([{ text: 'Mine', is_appreciated: false, is_blocked: false }]);
  });

  test('excludes mentions by the user from the unread ones, and announces that', async () => {
    const ben = await app.register();
    await joinSpace(ben, space);
    const before = await sendMessage(mallory, space, `@${ben.username} one`);
    expect(await mentionsOf(ben)).toBe(1);
    const { client } = ben;
    const { data: list } = await api.listParticipations({ client, throwOnError: true });
    const query = { after: list.newer_cursor, wait: 20 };
    const waiting = api.listParticipations({ client, query, throwOnError: true });
    await block(ben, mallory);
    expect((await waiting).data.items).toMatchObject([{ unread_mentions: 0, unread_count: 1 }]);
    const sent = await sendMessage(mallory, space, `@${ben.username} two`);
    expect(sent.mentions).toEqual(before.mentions);
    expect(await mentionsOf(ben)).toBe(0);
    await unblock(ben, mallory);
    expect(await mentionsOf(ben)).toBe(2);
  });

  test('rejects the own account and unknown users', async () => {
    expect(await getError(block(ann, ann))).toBe('403 own_account');
    const unknown = api.blockUser({ client: ann.client, path: { user_id: 'unknown' } });
    expect(await getError(unknown)).toBe('404 user_not_found');
  });

  test('is deleted with either account', async () => {
    const ben = await app.register();
    await block(ben, mallory);
    await block(mallory, ben);
    await api.deleteAccount({ client: mallory.client, throwOnError: true });
    expect(await blockedBy(ben)).toEqual([]);
    const { data } = await api.downloadAccountData({ client: ben.client, throwOnError: true });
    expect(data.blocks).toEqual([]);
    const { db } = app.context.engine;
    const rows = await db.selectFrom('blocks').innerJoin('users', 'users.pk', 'user_pk');
    const remaining = await rows.select('blocked_pk').where('user_id', '=', ben.userId).execute();
    expect(remaining).toEqual([]);
  });
});

describe('updateParticipation', () => {
  const mute = ({ client }: Actor, muted: boolean) =>
    api.updateParticipation({ client, path: space, body: { muted } });
  const totalsOf = async ({ client }: Actor) =>
    (await api.listParticipations({ client, throwOnError: true })).data.unread?.message_count;

  test('mutes a space, which has no unread messages then, and announces that', async () => {
    await sendMessage(ann, space, `@${mallory.username} Hello`);
    expect(await totalsOf(mallory)).toBe(1);
    const { client } = mallory;
    const { data: list } = await api.listParticipations({ client, throwOnError: true });
    const query = { after: list.newer_cursor, wait: 20 };
    const waiting = api.listParticipations({ client, query, throwOnError: true });
    const { data } = await mute(mallory, true);
    expect(data).toMatchObject({ muted: true, unread_count: 0, unread_mentions: 0 });
    expect((await waiting).data.items).toEqual([data]);
    expect(await totalsOf(mallory)).toBe(0);
    expect((await mute(mallory, true)).data).toEqual(data);
    const { data: own } = await api.downloadAccountData({ client, throwOnError: true });
    expect(own.participations).toMatchObject([{ muted: true }]);
    expect((await mute(mallory, false)).data).toMatchObject({
      muted: false,
      unread_count: 1,
      unread_mentions: 1,
    });
    expect(await totalsOf(mallory)).toBe(1);
  });

  test('ends when the user joins again, and needs a participation', async () => {
    await mute(mallory, true);
    const { client } = mallory;
    await api.leaveSpace({ client, path: space, throwOnError: true });
    expect(await getError(mute(mallory, true))).toBe('404 participation_not_found');
    await joinSpace(mallory, space);
    const { data } = await api.getParticipation({ client, path: space });
    expect(data?.muted).toBe(false);
  });
});
