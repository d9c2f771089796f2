import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { messagesIn } from '../../client/following.ts';
import {
  createClient,
  createConfig,
  deleteMessage,
  deleteSpace,
  listMessages,
  type Message,
} from '../../client/index.ts';
import { followShared } from '../../client/shared-following.ts';
import type { Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let user: TestUser;
let space: Space;
let tabs: Tab[];
beforeAll(async () => {
  user = await app.register();
});
beforeEach(async () => {
  space = await createSpace(user);
  tabs = [];
});
afterEach(async () => {
  for (const { controller } of tabs) controller.abort();
  await Promise.all(tabs.map(({ ended }) => ended));
});

interface Tab {
  controller: AbortController;
  /** Resolves with the error that has ended it. */
  ended: Promise<unknown>;
  messages: Map<string, Message>;
  /** The number of requests that have waited for events or are waiting. */
  waits: number;
  /** The number of other requests for events. */
  reads: number;
}

/** Opens the space in a tab that has loaded its first page. */
async function openTab(as = user): Promise<Tab> {
  const { space_id } = space;
  const tab = { controller: new AbortController(), messages: new Map(), waits: 0, reads: 0 } as Tab;
  const client = createClient(
    createConfig({
      baseUrl: app.url,
      auth: as.token,
      fetch: (request) => {
        const { url } = request as Request;
        if (url.includes('wait=')) tab.waits += 1;
        else if (url.includes('after=')) tab.reads += 1;
        return fetch(request);
      },
    }),
  );
  const { data } = await listMessages({ client, query: { space_id }, throwOnError: true });
  for (const each of data.items) tab.messages.set(each.message_id, each);
  tab.ended = followShared({
    feed: messagesIn(space_id),
    client,
    signal: tab.controller.signal,
    position: { cursor: data.newer_cursor },
    apply: ({ items, changed_items, deleted_message_ids }) => {
      for (const each of [...items, ...changed_items]) tab.messages.set(each.message_id, each);
      for (const each of deleted_message_ids) tab.messages.delete(each);
    },
  }).catch((error) => error);
  tabs.push(tab);
  return tab;
}

const textsIn = ({ messages }: Tab) => [...messages.values()].map(({ text }) => text);

test('one of the tabs of a user requests the events for all', async () => {
  const opened = [await openTab(), await openTab(), await openTab()];
  await sendMessage(user, space, 'one');
  const { message_id } = await sendMessage(user, space, 'two');
  for (const tab of opened) await vi.waitFor(() => expect(textsIn(tab)).toEqual(['one', 'two']));
  await deleteMessage({ client: user.client, path: { message_id } });
  for (const tab of opened) await vi.waitFor(() => expect(textsIn(tab)).toEqual(['one']));
  expect(opened.filter(({ waits }) => waits > 0)).toHaveLength(1);
});

test('another tab continues when the one that requests is closed, and no event is lost', async () => {
  const first = await openTab();
  const second = await openTab();
  await sendMessage(user, space, 'one');
  await vi.waitFor(() => expect(textsIn(second)).toEqual(['one']));
  first.controller.abort();
  await sendMessage(user, space, 'two');
  const third = await openTab();
  await sendMessage(user, space, 'three');
  for (const tab of [second, third]) {
    await vi.waitFor(() => expect(textsIn(tab).sort()).toEqual(['one', 'three', 'two']));
  }
});

test('a tab loads the events between its first page and those of the leader', async () => {
  const leader = await openTab();
  await vi.waitFor(() => expect(leader.waits).toBe(1));
  const { data } = await listMessages({
    client: user.client,
    query: { space_id: space.space_id },
    throwOnError: true,
  });
  await sendMessage(user, space, 'missed');
  await vi.waitFor(() => expect(textsIn(leader)).toEqual(['missed']));
  const texts: string[] = [];
  const controller = new AbortController();
  const { client } = user;
  const late = createClient({ ...client.getConfig(), auth: user.token });
  const ended = followShared({
    feed: messagesIn(space.space_id),
    client: late,
    signal: controller.signal,
    position: { cursor: data.newer_cursor },
    apply: ({ items }) => void texts.push(...items.map(({ text }) => text)),
  }).catch((error) => error);
  await vi.waitFor(() => expect(texts).toEqual(['missed']));
  controller.abort();
  await ended;
});

test('a hidden tab sends no request for what another one receives, and catches up when it is shown', async () => {
  // The leader has no document, so it is never hidden.
  const leader = await openTab();
  await vi.waitFor(() => expect(leader.waits).toBe(1));
  const document = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal('document', document);
  const tab = await openTab();
  const setHidden = (hidden: boolean) => {
    document.hidden = hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  };
  await vi.waitFor(() => expect(tab.reads).toBe(1));
  setHidden(true);
  await sendMessage(user, space, 'one');
  await vi.waitFor(() => expect(textsIn(leader)).toEqual(['one']));
  // After another message, those before have arrived in the other tab.
  await sendMessage(user, space, 'two');
  await vi.waitFor(() => expect(textsIn(leader)).toEqual(['one', 'two']));
  expect([textsIn(tab), tab.reads]).toEqual([[], 1]);
  setHidden(false);
  await vi.waitFor(() => expect(textsIn(tab)).toEqual(['one', 'two']));
  vi.unstubAllGlobals();
});

test('tabs of different users do not share events', async () => {
  const other = await app.register();
  const [own, others] = [await openTab(), await openTab(other)];
  await sendMessage(user, space, 'one');
  for (const tab of [own, others]) await vi.waitFor(() => expect(tab.waits).toBeGreaterThan(0));
});

test('each tab learns that the space is gone', async () => {
  const opened = [await openTab(), await openTab()];
  await vi.waitFor(() => expect(opened.some(({ waits }) => waits > 0)).toBe(true));
  await deleteSpace({ client: user.client, path: { space_id: space.space_id } });
  for (const { ended } of opened) await expect(ended).resolves.toMatchObject({ status: 404 });
});
