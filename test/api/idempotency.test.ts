import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { firstOfTwo } from '../support/first-of-two.ts';
import {
  createSpace,
  joinSpace,
  leaveSpace,
  listParticipations,
  sendMessage,
  spaceCreation,
} from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

let ann: TestUser;
let ben: TestUser;
/** A space of `ann`. */
let space: Space;
let key: string;
beforeEach(async () => {
  ann = await app.register();
  ben = await app.register();
  space = await createSpace(ann);
  key = randomUUID();
});

const send = ({ client }: Pick<TestUser, 'client'>, text = 'Hello', sentKey = key) =>
  api.sendMessage({
    client,
    headers: { 'Idempotency-Key': sentKey },
    body: { space_id: space.space_id, text },
  });

const create = ({ client }: Pick<TestUser, 'client'>, title = 'Tea') =>
  api.createSpace({
    client,
    headers: { 'Idempotency-Key': key },
    body: spaceCreation({ title, tags: ['green'] }),
  });

const messagesOf = async ({ space_id }: Space = space): Promise<Message[]> => {
  const { client } = ann;
  return (await api.listMessages({ client, query: { space_id }, throwOnError: true })).data.items;
};

const countKeys = async () => {
  const { db } = app.context.engine;
  return (await db.selectFrom('idempotency_keys').selectAll().execute()).length;
};

describe('A repeated request with an Idempotency-Key', () => {
  test('returns the message of the first one', async () => {
    const { data: first } = await send(ann);
    const { data: second, response } = await send(ann);
    expect(response?.status).toBe(201);
    expect(second).toEqual(first);
    expect(await messagesOf()).toEqual([first]);
  });

  test('returns the space of the first one', async () => {
    const { data: first } = await create(ann);
    const { data: second, response } = await create(ann);
    expect(response?.status).toBe(201);
    expect(second).toEqual(first);
    expect(await listParticipations(ann)).toHaveLength(2);
  });

  test('returns what the first one created as it is now', async () => {
    const { data } = await create(ann);
    const path = { space_id: data?.space_id ?? '' };
    await api.updateSpace({ client: ann.client, path, body: { title: 'Coffee' } });
    expect((await create(ann)).data).toMatchObject({ ...path, title: 'Coffee' });
  });

  test('can have its body and its key in another notation', async () => {
    const { data } = await send(ann);
    const body = `{ "text": "Hel\\u006co",\n"space_id": "${space.space_id}" }`;
    const headers = { ...ann.headers, 'content-type': 'application/json' };
    const response = await app.fetch('/api/messages', {
      method: 'POST',
      // A string of a structured field, as in the draft of the standard.
      headers: { ...headers, 'idempotency-key': `"${key}"` },
      body,
    });
    expect(await response.json()).toEqual(data);
    expect(await messagesOf()).toHaveLength(1);
  });

  test('has the effect of updateSpace once, whatever If-Match requires', async () => {
    const path = { space_id: space.space_id };
    const before = await api.getSpace({ client: ann.client, path });
    const headers = {
      'Idempotency-Key': key,
      'If-Match': before.response?.headers.get('etag') ?? '',
    };
    const update = () =>
      api.updateSpace({ client: ann.client, path, headers, body: { title: 'Coffee' } });
    const first = await update();
    await joinSpace(ben, space);
    const second = await update();
    expect(first.response?.status).toBe(200);
    expect(second.data).toEqual({ ...first.data, participant_count: 2 });
    expect(second.response?.headers.get('etag')).not.toBe(first.response?.headers.get('etag'));
    const other = api.updateSpace({ client: ann.client, path, headers, body: { title: 'Tea' } });
    expect(await getError(other)).toBe('422 idempotency_key_reused');
  });

  test('edits a message once, whatever If-Match requires', async () => {
    const sent = await send(ann, 'Helo', randomUUID());
    const path = { message_id: sent.data?.message_id ?? '' };
    const headers = {
      'Idempotency-Key': key,
      'If-Match': sent.response?.headers.get('etag') ?? '',
    };
    const edit = () =>
      api.editMessage({ client: ann.client, path, headers, body: { text: 'Hello' } });
    const first = await edit();
    expect(first.response?.status).toBe(200);
    expect((await edit()).data).toEqual(first.data);
    await api.editMessage({ client: ann.client, path, body: { text: 'Hello!' } });
    expect((await edit()).data).toMatchObject({ text: 'Hello!' });
    const other = api.editMessage({ client: ann.client, path, headers, body: { text: 'Bye' } });
    expect(await getError(other)).toBe('422 idempotency_key_reused');
  });

  test('renews an invitation code once', async () => {
    const secret = await createSpace(ann, { visibility: 'private' });
    const renew = ({ space_id }: Space) =>
      api.renewInvitationCode({
        client: ann.client,
        path: { space_id },
        headers: { 'Idempotency-Key': key },
      });
    const { data: first } = await renew(secret);
    expect(first?.invitation_code).not.toBe(secret.invitation_code);
    expect((await renew(secret)).data).toEqual(first);
    const other = await createSpace(ann, { visibility: 'private' });
    expect(await getError(renew(other))).toBe('422 idempotency_key_reused');
  });

  test('is rejected if its body or operation differs', async () => {
    await send(ann);
    expect(await getError(send(ann, 'Good evening'))).toBe('422 idempotency_key_reused');
    expect(await getError(create(ann))).toBe('422 idempotency_key_reused');
    expect(await messagesOf()).toHaveLength(1);
  });

  test('does not return what another account has created', async () => {
    await joinSpace(ben, space);
    await send(ann, 'Hello');
    const { data } = await send(ben, 'Hello');
    expect(data?.author.user_id).toBe(ben.userId);
    expect(await messagesOf()).toHaveLength(2);
  });

  test('works in another session of the account', async () => {
    const { data: first } = await send(ann);
    const { email, password } = ann;
    const body = { email, password };
    const { data: session } = await api.login({ client: app.client(), body });
    const client = app.client(session?.access_token);
    expect((await send({ client })).data).toEqual(first);
  });

  test('is rejected while the first one is running', async () => {
    const error = getError(firstOfTwo(app.context.engine, () => send(ann)));
    expect(await error).toBe('409 idempotency_key_in_use');
    expect(await messagesOf()).toHaveLength(1);
  });

  test('takes effect once even if another process receives it at the same time', async () => {
    await using other = await startApp({ PUBLIC_URL: app.url }, { sharesDataOf: app });
    const clients = [ann.client, other.client(ann.token)];
    for (let i = 0; i < 10; i += 1) {
      key = randomUUID();
      const [first, second] = await Promise.all(clients.map((client) => send({ client })));
      expect(second?.data).toEqual(first?.data);
      const [one, two] = await Promise.all(clients.map((client) => create({ client }, key)));
      const errors = [first, second, one, two].flatMap((each) => each?.error ?? []);
      // A key belongs to one of the two operations.
      expect(errors.map((error) => (error as { code: string }).code)).toEqual([
        'idempotency_key_reused',
        'idempotency_key_reused',
      ]);
    }
    expect(await messagesOf()).toHaveLength(10);
  });

  test.each([
    ['its message has been deleted', deleteMessage],
    ['its author can no longer see its space', hideSpace],
  ])('gets 404 if %s, and sends nothing', async (_condition, change) => {
    await joinSpace(ben, space);
    const { data } = await send(ben);
    await change(data as Message);
    const before = await messagesOf();
    expect(await getError(send(ben))).toBe('404 message_not_found');
    expect(await messagesOf()).toEqual(before);
  });

  async function deleteMessage({ message_id }: Message) {
    await api.deleteMessage({ client: ben.client, path: { message_id }, throwOnError: true });
  }

  async function hideSpace({ space_id }: Message) {
    const body = { visibility: 'private' as const };
    await api.updateSpace({ client: ann.client, path: { space_id }, body, throwOnError: true });
    await leaveSpace(ben, space);
  }

  test('gets 404 if its space has been deleted, and creates nothing', async () => {
    const { data } = await create(ann);
    const path = { space_id: data?.space_id ?? '' };
    await api.deleteSpace({ client: ann.client, path, throwOnError: true });
    expect(await getError(create(ann))).toBe('404 space_not_found');
    expect(await listParticipations(ann)).toHaveLength(1);
  });

  test('is a first request if the one before was rejected', async () => {
    expect(await getError(send(ben, 'Hello'))).toBe('403 not_a_participant');
    await joinSpace(ben, space);
    expect(await getError(send(ben, ''))).toBe('400 invalid_request');
    const { data } = await send(ben, 'Good evening');
    expect(await messagesOf()).toEqual([data]);
  });
});

test.each([
  ['short', 'a'.repeat(15)],
  ['short, quoted', `"${'a'.repeat(14)}"`],
  ['long', 'a'.repeat(129)],
  ['half quoted', `${'a'.repeat(16)}"`],
])('a %s Idempotency-Key is rejected', async (_kind, sentKey) => {
  const message =
    'must have 16 to 128 letters from A to Z, digits, - and _, in double quotes or without';
  const { error } = await send(ann, 'Hello', sentKey);
  expect(error).toMatchObject({
    code: 'invalid_request',
    errors: [{ in: 'header', name: 'Idempotency-Key', code: 'malformed', message }],
  });
});

test('requests without a key are never repetitions', async () => {
  await sendMessage(ann, space, 'Hello');
  await sendMessage(ann, space, 'Hello');
  expect(await messagesOf()).toHaveLength(2);
});

test('repetitions count against the quotas of the network, but not of the account', async () => {
  await using limited = await startApp({
    RATE_LIMITS: 'on',
    SPACES_PER_HOUR: '1',
    MESSAGES_PER_HOUR: '1',
  });
  const user = await limited.register();
  const { data } = await create(user);
  space = data as Space;
  const messageKey = randomUUID();
  // The quota of the network is ten times as high.
  for (let i = 0; i < 9; i += 1) {
    expect((await create(user)).data).toEqual(space);
    expect((await send(user, 'Hello', messageKey)).response?.status).toBe(201);
  }
  expect(await getError(create(user))).toBe('429 too_many_requests');
});

test('keys are deleted after 24 hours, not earlier', async () => {
  const { db } = app.context.engine;
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  const { user_pk } = await send(ann).then(() =>
    db
      .selectFrom('idempotency_keys')
      .select('user_pk')
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow(),
  );
  const kept = await countKeys();
  const expired = Array.from({ length: 1_001 }, (_, i) => ({
    user_pk,
    key_hash: `expired ${i}`,
    request_hash: '',
    created_id: '',
    created_at: hoursAgo(24.001),
  }));
  await db.insertInto('idempotency_keys').values(expired).execute();
  await db
    .updateTable('idempotency_keys')
    .set({ created_at: hoursAgo(23.99) })
    .where('created_at', '>', hoursAgo(24))
    .execute();
  await app.context.housekeeping.run();
  expect(await countKeys()).toBe(kept);
});

test('keys are deleted with the account, and the texts of requests are not stored', async () => {
  const before = await countKeys();
  await send(ann, 'A secret recipe');
  const { db } = app.context.engine;
  const rows = await db.selectFrom('idempotency_keys').selectAll().execute();
  expect(JSON.stringify(rows)).not.toContain(key);
  expect(JSON.stringify(rows)).not.toContain('secret');
  await api.deleteAccount({ client: ann.client, throwOnError: true });
  // Maintenance deletes what the first transaction has no time for.
  await expect.poll(countKeys).toBe(before);
});
