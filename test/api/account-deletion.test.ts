import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { operations } from '../../server/contract.ts';
import { documentsWith, readDictionary } from '../../server/search/dictionary/dictionary.ts';
import { avatarFile, listAvatarFiles } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { getError } from '../support/errors.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import {
  createSpace,
  joinSpace,
  leaveSpace,
  sendMessage,
  spaceCreation,
} from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

const appreciate = async ({ client }: TestUser, { message_id }: { message_id: string }) =>
  (await api.appreciateMessage({ client, path: { message_id }, throwOnError: true })).data;

const statsOf = async ({ client }: TestUser) =>
  (await api.getProfile({ client, throwOnError: true })).data.stats;

const deleteAccount = ({ client }: TestUser) => api.deleteAccount({ client, throwOnError: true });

describe('The deletion of an account', () => {
  test('ends all its sessions immediately', async () => {
    const user = await app.register();
    const { email, password } = user;
    const login = await api.login({ client: app.client(), body: { email, password } });
    const { data, response } = await api.deleteAccount({ client: user.client });
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'Your account and everything in it have been deleted.' });

    for (const token of [user.token, login.data?.access_token]) {
      const client = app.client(token);
      expect((await api.getProfile({ client })).error).toMatchObject({ status: 401 });
      expect((await api.deleteAccount({ client })).error).toMatchObject({ status: 401 });
    }
    const again = await api.login({ client: app.client(), body: { email, password } });
    expect(again.error).toMatchObject({ status: 401, code: 'credentials_incorrect' });
  });

  test('makes its username, confusable usernames and its email address available again', async () => {
    const user = await app.register('milan');
    await deleteAccount(user);
    const next = await app.register('Milan');
    expect(next.userId).not.toBe(user.userId);
    await deleteAccount(next);
    const { response } = await api.register({
      client: app.client(),
      body: { username: 'rnilan', email: user.email.toUpperCase(), password: user.password },
    });
    expect(response?.status).toBe(201);
  });

  test('removes it from every response and from the statistics of other users', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const title = 'Vanishing lighthouses';
    const own = await createSpace(gone, { title, tags: ['lighthouse'] });
    const hidden = await createSpace(gone, { visibility: 'private' });
    const foreign = await createSpace(other, { title: 'Remaining lighthouses' });
    await joinSpace(other, own);
    await joinSpace(other, hidden);
    await joinSpace(gone, foreign);
    const inOwn = await sendMessage(other, own, 'six words in a deleted space');
    const inHidden = await sendMessage(other, hidden, 'three more words');
    const inForeign = await sendMessage(other, foreign, 'three remaining words');
    const ofGone = await sendMessage(gone, foreign, 'three deleted words');
    for (const message of [inOwn, inHidden, inForeign]) await appreciate(gone, message);
    await appreciate(other, ofGone);
    expect(await statsOf(other)).toEqual({
      spaces_created: 1,
      spaces_participated: 3,
      total_words_contributed: 12,
      total_appreciations_received: 3,
    });

    const countInDictionary = async () =>
      documentsWith(await readDictionary(app.context.engine.searchIndex), 'vanishing');
    await waitForDictionary(app);
    expect(await countInDictionary()).toBe(1);
    await deleteAccount(gone);

    const { client } = other;
    const removal = { space_id: foreign.space_id, user_id: gone.userId };
    expect(await getError(api.removeParticipant({ client, path: removal }))).toBe(
      '404 participant_not_found',
    );
    const ids = [
      ['user_id', gone.userId],
      ['space_id', own.space_id],
      ['space_id', hidden.space_id],
      ['message_id', ofGone.message_id],
      ['message_id', inOwn.message_id],
    ] as const;
    for (const [name, id] of ids) {
      const operationsWithId = operations.filter(
        (operation) =>
          inputNamesOf(operation).includes(name) &&
          // They return 200 also for unknown ids.
          !/^withdraw.*Report$/.test(operation.operationId) &&
          !(
            name === 'user_id' &&
            ['dismissModerator', 'unblockUser', 'undoRemoval'].includes(operation.operationId)
          ),
      );
      expect(operationsWithId).not.toEqual([]);
      for (const operation of operationsWithId) {
        // With both ids, an unknown space would be the reason for the 404.
        const values = { space_id: foreign.space_id, [name]: id };
        const { url, init } = exampleRequest(operation, values);
        const headers = { ...(init.headers as Record<string, string>), ...other.headers };
        const { status } = await app.fetch(url, { ...init, headers });
        expect(status, operation.operationId).toBe(404);
      }
    }
    // The dictionary may still correct the second query to the first, but `Answered-Query` never names a query without
    // results.
    for (const q of ['vanishing', 'vanishinq']) {
      const { data, response } = await api.searchSpaces({ client, query: { q } });
      expect(data).toEqual([]);
      expect(response?.headers.has('answered-query')).toBe(false);
    }
    const { data: typed } = await api.searchSpaces({ client, query: { q: title, as_typed: true } });
    expect(typed).toEqual([]);
    await waitForDictionary(app);
    expect(await countInDictionary()).toBe(0);
    const { data: others } = await api.searchSpaces({ client, query: { q: title } });
    expect(others?.map(({ space_id }) => space_id)).toEqual([foreign.space_id]);
    expect((await api.searchSpacesByTag({ client, path: { tag: 'lighthouse' } })).data).toEqual([]);

    const spaces = await api.listParticipations({ client });
    expect(spaces.data?.items.map(({ space }) => space.space_id)).toEqual([foreign.space_id]);
    const found = await api.searchSpaces({ client, query: { q: 'remaining lighthouses' } });
    expect(found.data).toMatchObject([{ space_id: foreign.space_id, participant_count: 1 }]);
    const messages = await api.listMessages({ client, query: { space_id: foreign.space_id } });
    expect(messages.data?.items).toMatchObject([
      { message_id: inForeign.message_id, appreciation_count: 0 },
    ]);
    expect(messages.data?.items).toHaveLength(1);
    expect(await statsOf(other)).toEqual({
      spaces_created: 1,
      spaces_participated: 1,
      total_words_contributed: 3,
      total_appreciations_received: 0,
    });
  });

  test('does not change the participant count of spaces that the user had left', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const space = await createSpace(other);
    await joinSpace(gone, space);
    await leaveSpace(gone, space);
    await deleteAccount(gone);
    const { data } = await api.getSpace({
      client: other.client,
      path: { space_id: space.space_id },
    });
    expect(data?.participant_count).toBe(1);
  });

  test('leaves no data from requests in progress during the deletion', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const { client, email, password } = gone;
    const foreign = await createSpace(other);
    await joinSpace(gone, foreign);
    const avatar = await avatarFile();
    const sendRequests = (): Promise<{ response?: Response }>[] => [
      api.sendMessage({ client, body: { space_id: foreign.space_id, text: 'Wait!' } }),
      api.changeUsername({ client, body: { username: 'late' } }),
      api.changeBio({ client, body: { bio: 'Too late' } }),
      api.changeProfilePicture({ client, body: { avatar } }),
      api.createSpace({ client, body: spaceCreation({ title: 'Belated' }) }),
      api.login({ client: app.client(), body: { email, password } }),
    ];
    const pending = [...sendRequests(), ...sendRequests()];
    const deletion = deleteAccount(gone);
    for (let i = 0; i < 4; i += 1) {
      await sleep(3);
      pending.push(...sendRequests());
    }
    await deletion;
    // Each completed before the deletion or was rejected after it.
    const statuses = new Set((await Promise.all(pending)).map(({ response }) => response?.status));
    expect([...statuses].filter((status) => ![200, 201, 401].includes(status ?? 0))).toEqual([]);

    const { db } = app.context.engine;
    const rows = await db
      .selectFrom('users')
      .select('pk')
      .where('user_id', '=', gone.userId)
      .execute();
    expect(rows).toEqual([]);
    const { data } = await api.listMessages({
      client: other.client,
      query: { space_id: foreign.space_id },
    });
    expect(data?.items).toEqual([]);
    const space = await api.getSpace({
      client: other.client,
      path: { space_id: foreign.space_id },
    });
    expect(space.data?.participant_count).toBe(1);
    const belated = await api.searchSpaces({ client: other.client, query: { q: 'belated' } });
    expect(belated.data).toEqual([]);
    expect(await listAvatarFiles(app)).toEqual([]);
  });

  test('leaves no avatar from an upload in progress during the deletion', async () => {
    const gone = await app.register();
    const { avatars } = app.context;
    const { put } = avatars;
    avatars.put = async (...file) => {
      await put(...file);
      await deleteAccount(gone);
    };
    try {
      const { response } = await api.changeProfilePicture({
        client: gone.client,
        body: { avatar: await avatarFile() },
      });
      expect(response?.status).toBe(401);
    } finally {
      avatars.put = put;
    }
    expect(await listAvatarFiles(app)).toEqual([]);
  });
});
