import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import {
  createClient,
  createConfig,
  deleteMessage,
  deleteSpace,
  followMessages,
  listMessages,
  type SpaceEvents,
} from '../../client/index.ts';
import type { Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let user: TestUser;
let space: Space;

beforeAll(async () => {
  user = await app.register();
});

beforeEach(async () => {
  space = await createSpace(user);
});

/** Follows the space until `isDone` returns true for the updates so far. */
async function follow(
  options: Omit<Parameters<typeof followMessages>[0], 'space_id'>,
  isDone: (updates: SpaceEvents[]) => boolean,
): Promise<SpaceEvents[]> {
  const updates: SpaceEvents[] = [];
  for await (const update of followMessages({ space_id: space.space_id, ...options })) {
    updates.push(update);
    if (isDone(updates)) break;
  }
  return updates;
}

const idsOf = (updates: SpaceEvents[]) =>
  updates.flatMap(({ items }) => items.map(({ message_id }) => message_id));

test('yields every message once, although responses are lost', async () => {
  const { client } = user;
  const { space_id } = space;
  const query = { space_id };
  const { data: first } = await listMessages({ client, query, throwOnError: true });
  let requests = 0;
  const failing = createClient(
    createConfig({
      baseUrl: app.url,
      fetch: async (input) => {
        const response = await fetch(input);
        requests += 1;
        if (requests === 2) throw new TypeError('The connection was lost.');
        if (requests === 4) {
          return new Response(null, { status: 503, headers: { 'retry-after': '1' } });
        }
        return response;
      },
    }),
  );
  const following = follow(
    { client: failing, after: first.newer_cursor },
    (updates) => idsOf(updates).length === 8,
  );
  const sent: string[] = [];
  for (let i = 0; i < 8; i += 1) {
    sent.push((await sendMessage(user, space, `No. ${i}`)).message_id);
    await sleep(200);
  }
  expect(idsOf(await following)).toEqual(sent);
});

test('follows from now on by default, and yields deletions', async () => {
  const before = await sendMessage(user, space, 'before');
  const following = follow({ client: user.client }, (updates) => updates.length === 2);
  await sleep(200);
  const { message_id } = await sendMessage(user, space, 'after');
  await sleep(100);
  await deleteMessage({ client: user.client, path: before, throwOnError: true });
  const updates = await following;
  expect(updates).toMatchObject([
    { items: [{ message_id }], deleted_message_ids: [] },
    { items: [], deleted_message_ids: [before.message_id] },
  ]);
});

test('throws when the space is deleted, or the signal aborts', async () => {
  const controller = new AbortController();
  const never = () => false;
  const aborted = follow({ client: user.client, signal: controller.signal }, never);
  const ended = follow({ client: user.client }, never);
  const outcomes = Promise.allSettled([aborted, ended]);
  await sleep(200);
  controller.abort(new Error('enough'));
  await deleteSpace({ client: user.client, path: space, throwOnError: true });
  expect(await outcomes).toMatchObject([
    { reason: { message: 'enough' } },
    { reason: { name: 'ApiError', status: 404 } },
  ]);
});
