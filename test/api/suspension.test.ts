import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import { deleteSuspendedAccount } from '../../server/account-lifecycle/deletion.ts';
import { restoreAccount, suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { avatarFile } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { assertConsistent } from '../support/consistency.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { getError } from '../support/errors.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { retryWhileUnavailable } from '../support/retry.ts';
import { createSpace, joinSpace, sendMessage, spaceCreation } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
/** Is suspended in most tests. */
let mallory: TestUser;
let other: TestUser;
let publicSpace: Space;
let privateSpace: Space;
/** Created by `other`, with a message of `mallory`. */
let foreignSpace: Space;
let ofMallory: Message;
let inPublicSpace: Message;

beforeAll(async () => {
  mallory = await app.register('mallory');
  other = await app.register('other');
  publicSpace = await createSpace(mallory, { title: 'Zeppelin bargains', tags: ['zeppelin'] });
  privateSpace = await createSpace(mallory, { title: 'Backroom', visibility: 'private' });
  foreignSpace = await createSpace(other, { title: 'Zeppelin history', tags: ['zeppelin'] });
  await joinSpace(other, publicSpace);
  await joinSpace(other, privateSpace);
  await joinSpace(mallory, foreignSpace);
  ofMallory = await sendMessage(mallory, foreignSpace, 'Buy my zeppelins');
  inPublicSpace = await sendMessage(other, publicSpace, 'How much is one?');
  await sendMessage(mallory, publicSpace, 'Very little');
});

const suspend = (account: string) => suspendAccount(app.context.engine, account);
const restore = (account: string) => restoreAccount(app.context.engine, account);

const logIn = ({ email }: TestUser, password: string) =>
  api.login({ client: app.client(), body: { email, password } });

/** Returns what others see of the account. */
async function readVisible() {
  const { client } = other;
  const { space_id } = publicSpace;
  const [byText, corrected, byTag, space, messages, hidden, user, participations, foreign] =
    await Promise.all([
      api.searchSpaces({ client, query: { q: 'zeppelin' } }),
      api.searchSpaces({ client, query: { q: 'bargians' } }),
      api.searchSpacesByTag({ client, path: { tag: 'zeppelin' } }),
      api.getSpace({ client, path: { space_id } }),
      api.listMessages({ client, query: { space_id } }),
      api.getSpace({ client, path: { space_id: privateSpace.space_id } }),
      api.getUser({ client, path: { user_id: mallory.userId } }),
      api.listParticipations({ client }),
      api.listMessages({ client, query: { space_id: foreignSpace.space_id } }),
    ]);
  return {
    byText: byText.data,
    corrected: corrected.data,
    byTag: byTag.data,
    space: space.data,
    messages: messages.data?.items,
    hidden: hidden.data,
    user: user.data,
    participations: participations.data?.items,
    foreign: foreign.data?.items,
  };
}

describe('A suspended account', () => {
  test('can sign in again only after it is restored', async () => {
    const { email, password, client } = mallory;
    expect(await suspend(email)).toBe(true);
    expect(await getError(api.getProfile({ client }))).toBe('401 unauthenticated');
    expect((await logIn(mallory, password)).error).toMatchObject({
      status: 403,
      code: 'account_suspended',
      detail: 'The operator of this server has suspended the account.',
    });
    await restore(email);
    // Its earlier sessions have ended.
    expect(await getError(api.getProfile({ client }))).toBe('401 unauthenticated');
    expect((await logIn(mallory, password)).response?.status).toBe(200);
  });

  test('gets the same response to a wrong password as any other account', async () => {
    await suspend(mallory.email);
    const suspended = await logIn(mallory, 'not the password');
    const usual = await logIn(other, 'not the password');
    expect(suspended.error).toEqual({ ...usual.error, request_id: expect.any(String) });
    expect(suspended.response?.status).toBe(401);
    await restore(mallory.email);
  });

  test('gets no session from a login in progress', async () => {
    const { userId, password } = mallory;
    for (let i = 0; i < 5; i += 1) {
      const login = logIn(mallory, password);
      await suspend(userId);
      const { data, response } = await login;
      expect([200, 403]).toContain(response?.status);
      if (data) {
        const client = app.client(data.access_token);
        expect(await getError(api.getProfile({ client }))).toBe('401 unauthenticated');
      }
      await restore(userId);
    }
  });

  test('is hidden with its spaces, and visible again without changes after it is restored', async () => {
    await waitForDictionary(app);
    const before = await readVisible();
    expect(before.byText?.map(({ title }) => title)).toEqual([
      'Zeppelin history',
      'Zeppelin bargains',
    ]);
    expect(before.corrected).toHaveLength(1);
    expect(before.byTag).toHaveLength(2);
    expect(before.participations).toHaveLength(3);

    await suspend(mallory.userId);
    await waitForDictionary(app);
    const [remaining] = before.byText ?? [];
    expect(await readVisible()).toEqual({
      byText: [remaining],
      corrected: [],
      byTag: [remaining],
      space: undefined,
      messages: undefined,
      hidden: undefined,
      user: undefined,
      participations: before.participations?.filter(
        ({ space }) => space.space_id === foreignSpace.space_id,
      ),
      // Its messages in spaces of others stay.
      foreign: before.foreign,
    });
    expect(before.foreign?.map(({ message_id }) => message_id)).toEqual([ofMallory.message_id]);

    await restore(mallory.userId);
    await waitForDictionary(app);
    expect(await readVisible()).toEqual(before);
  });

  const operationsWith = (name: string) =>
    operations.filter((operation) => inputNamesOf(operation).includes(name));
  const statusOf = async (operation: Operation, values: Record<string, string>) => {
    const { url, init } = exampleRequest(operation, values);
    const headers = { ...(init.headers as Record<string, string>), ...other.headers };
    return (await app.fetch(url, { ...init, headers })).status;
  };

  // These also find suspended users, who stay participants, as the next test shows, and can be in reports.
  const onAnyUser = [
    'appointModerator',
    'dismissModerator',
    'removeParticipant',
    'undoRemoval',
    'unblockUser',
    'withdrawUserReport',
  ];
  test.each(
    operationsWith('user_id').filter(({ operationId }) => !onAnyUser.includes(operationId)),
  )('does not exist for $operationId', async (operation) => {
    await suspend(mallory.userId);
    // With both ids, an unknown space would be the reason for the 404.
    const values = { space_id: foreignSpace.space_id, user_id: mallory.userId };
    expect(await statusOf(operation, values)).toBe(404);
    await restore(mallory.userId);
  });

  test('stays a participant of spaces, whose creators can remove it and undo the removal', async () => {
    const user = await app.register();
    await joinSpace(user, foreignSpace);
    await suspend(user.userId);
    const { client } = other;
    const path = { space_id: foreignSpace.space_id, user_id: user.userId };
    const { data } = await api.removeParticipant({ client, path });
    expect(data?.user).toMatchObject({ user_id: user.userId, username: user.username });
    const { response } = await api.undoRemoval({ client, path });
    expect(response?.status).toBe(200);
  });

  // Also withdraws reports about spaces that the caller cannot see any more.
  const onVisibleSpaces = operationsWith('space_id').filter(
    ({ operationId }) => operationId !== 'withdrawSpaceReport',
  );
  test.each(onVisibleSpaces)(
    'hides its spaces from $operationId, even for participants',
    async (operation) => {
      await suspend(mallory.userId);
      for (const { space_id } of [publicSpace, privateSpace]) {
        expect(await statusOf(operation, { space_id })).toBe(404);
      }
      await restore(mallory.userId);
    },
  );

  test('hides messages of others in its spaces, but lets their authors delete them', async () => {
    await suspend(mallory.userId);
    const third = await app.register();
    const path = { message_id: inPublicSpace.message_id };
    expect(await getError(api.appreciateMessage({ client: third.client, path }))).toBe(
      '404 message_not_found',
    );
    const deleted = await api.deleteMessage({ client: other.client, path });
    expect(deleted.response?.status).toBe(200);
    await restore(mallory.userId);
    inPublicSpace = await sendMessage(other, publicSpace, 'How much is one?');
  });

  test('does not change the statistics of others', async () => {
    const stats = async () =>
      (await api.getProfile({ client: other.client, throwOnError: true })).data.stats;
    const before = await stats();
    await suspend(mallory.userId);
    expect(await stats()).toEqual(before);
    await restore(mallory.userId);
  });

  test('has spaces that stay unindexed when participants delete their accounts', async () => {
    const guests = await Promise.all(Array.from({ length: 3 }, () => app.register()));
    for (const guest of guests) await joinSpace(guest, publicSpace);
    await suspend(mallory.userId);
    for (const { client } of guests) await api.deleteAccount({ client, throwOnError: true });
    const { data } = await api.searchSpaces({ client: other.client, query: { q: 'bargains' } });
    expect(data).toEqual([]);
    await restore(mallory.userId);
    await assertConsistent(app.context.engine);
  });

  test('keeps its username and email address', async () => {
    await suspend(mallory.userId);
    const register = (username: string, email: string) =>
      getError(
        api.register({ client: app.client(), body: { username, email, password: 'a long road' } }),
      );
    expect(await register('Mallory', 'm@example.com')).toBe('409 username_taken');
    expect(await register('somebody', mallory.email)).toBe('409 email_taken');
    await restore(mallory.userId);
  });

  test('is not changed by a second suspension', async () => {
    const { db } = app.context.engine;
    const read = () =>
      db.selectFrom('users').selectAll().where('user_id', '=', mallory.userId).execute();
    await suspend(mallory.userId);
    const before = await read();
    expect(await suspend(mallory.email)).toBe(true);
    expect(await read()).toEqual(before);
    await restore(mallory.userId);
    expect(await restore(mallory.userId)).toBe(true);
  });

  test('disappears from the pages of a search that is being read', async () => {
    const creators = await Promise.all(Array.from({ length: 4 }, () => app.register()));
    for (const creator of creators) await createSpace(creator, { title: 'Quokka watching' });
    const path = '/api/spaces/search?q=quokka&limit=1';
    const first = await app.fetch(path);
    const [seen] = (await first.json()) as Space[];
    const hidden = creators.find(({ userId }) => userId !== seen?.creator.user_id) as TestUser;
    await suspend(hidden.userId);
    const next = nextPage(first) as string;
    const rest = (await readPages<Space>(app, next)).flat();
    expect(rest).toHaveLength(2);
    expect(rest.map(({ creator }) => creator.user_id)).not.toContain(hidden.userId);
  });
});

describe('deleteSuspendedAccount', () => {
  test('refuses an account that is not suspended or does not exist', async () => {
    const user = await app.register();
    const { engine } = app.context;
    expect(await deleteSuspendedAccount(engine, user.email)).toBe('not suspended');
    expect(await deleteSuspendedAccount(engine, 'nobody@example.com')).toBe('unknown');
    expect((await api.getProfile({ client: user.client })).response?.status).toBe(200);
  });

  test('deletes the account with its spaces and messages, and makes its username available', async () => {
    const user = await app.register();
    const own = await createSpace(user, { title: 'Numbat watching' });
    await joinSpace(user, foreignSpace);
    const message = await sendMessage(user, foreignSpace, 'Numbats');
    await joinSpace(other, own);
    await suspend(user.userId);
    expect(await deleteSuspendedAccount(app.context.engine, user.userId)).toBe('deleted');

    expect(await suspend(user.userId)).toBe(false);
    const space = api.getSpace({ client: other.client, path: { space_id: own.space_id } });
    expect(await getError(space)).toBe('404 space_not_found');
    const { data } = await api.listMessages({
      client: other.client,
      query: { space_id: foreignSpace.space_id },
    });
    expect(data?.items.map(({ message_id }) => message_id)).not.toContain(message.message_id);
    const again = await app.register(user.username);
    expect(again.userId).not.toBe(user.userId);
    await assertConsistent(app.context.engine);
  });
});

describe('A suspension during requests of the account', () => {
  /** Requests that read, write, wait for a password hash, or take long. Adds the ids of new spaces to `created`. */
  const requestsOf = (user: TestUser, avatar: Blob, created: string[]) => [
    () => api.changeProfilePicture({ client: user.client, body: { avatar } }),
    () => api.changePassword({ client: user.client, body: passwords(user) }),
    () => logIn(user, user.password),
    () => api.changeBio({ client: user.client, body: { bio: 'Quick' } }),
    () => api.changeUsername({ client: user.client, body: { username: `${user.username}.new` } }),
    () => api.downloadAccountData({ client: user.client }),
    () => api.searchSpaces({ client: user.client, query: { q: 'racing' } }),
    () => api.listMessages({ client: user.client, query: { space_id: foreignSpace.space_id } }),
    () => sendTo(user, foreignSpace.space_id),
    async () => {
      const body = spaceCreation({ title: 'Racing' });
      const result = await api.createSpace({ client: user.client, body });
      if (result.data) created.push(result.data.space_id);
      return result;
    },
  ];
  const passwords = ({ password }: TestUser) => ({
    currentPassword: password,
    newPassword: 'another long password',
  });
  const sendTo = (user: TestUser, space_id: string) =>
    api.sendMessage({ client: user.client, body: { space_id, text: 'Before or never' } });

  test('ends all sessions and hides all content, which a restoration shows again', async () => {
    const avatar = await avatarFile();
    const statuses = new Set<number | undefined>();
    for (let round = 0; round < 12; round += 1) {
      const user = await app.register();
      await joinSpace(user, foreignSpace);
      const created: string[] = [];
      const requests = [1, 2].flatMap(() => requestsOf(user, avatar, created));
      const results = requests.map(async (request) => {
        await sleep(Math.random() * 100);
        // On a busy machine, a login or password change may get 503.
        const { response } = await retryWhileUnavailable<{ response?: Response }>(request);
        return response?.status;
      });
      await sleep(Math.random() * 100);
      await suspend(user.userId);
      // Requests that began before the suspension may still be in progress.
      if (round % 3 === 0) await restore(user.userId);
      for (const status of await Promise.all(results)) statuses.add(status);
      await suspend(user.userId);

      const { db } = app.context.engine;
      const sessions = db
        .selectFrom('sessions')
        .innerJoin('users', 'users.pk', 'user_pk')
        .select('session_id')
        .where('user_id', '=', user.userId);
      expect(await sessions.execute()).toEqual([]);
      expect((await api.getProfile({ client: user.client })).response?.status).toBe(401);
      const search = async () => {
        const pages = await readPages<Space>(app, '/api/spaces/search?q=racing');
        const ids = pages.flat().map(({ space_id }) => space_id);
        return ids.filter((id) => created.includes(id)).sort();
      };
      expect(await search()).toEqual([]);
      await restore(user.userId);
      expect(await search()).toEqual(created.sort());
    }
    expect([...statuses].filter((status) => ![200, 201, 401, 403].includes(status ?? 0))).toEqual(
      [],
    );
    expect(statuses).toContain(401);
    expect(statuses).toContain(201);
    await assertConsistent(app.context.engine);
  });
});
