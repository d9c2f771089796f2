import { onlineManager, QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createClient, createConfig, type Message } from '../../client/index.ts';
import { fixture } from '../../client/msw.ts';
import { getParticipationOptions, useReadPosition } from '../../client/tanstack-react-query.ts';
import { renderHook, setHidden, useDocument } from './render-hook.ts';

useDocument();

/** The messages that requests have marked as read. */
let marked: string[];
/** Responds instead of the service to requests that mark messages. */
let failures: (() => Promise<Response> | Response)[];
/** Whether responses take five seconds. */
let isSlow: boolean;
let queryClient: QueryClient;
const client = createClient(
  createConfig({
    baseUrl: 'http://service.test',
    async fetch(input) {
      const request = input as Request;
      if (isSlow) await new Promise((resolve) => setTimeout(resolve, 5_000));
      const space_id = request.url.split('/')[5];
      const participation = { ...fixture('getParticipation'), read_until: timeAt(0) };
      if (request.method === 'PUT') {
        const failure = failures.shift();
        if (failure) return failure();
        const { message_id } = await request.json();
        marked.push(message_id);
        participation.read_until = timeAt(Number(message_id));
      }
      return Response.json({ ...participation, space: { ...participation.space, space_id } });
    },
  }),
);
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  [marked, failures] = [[], []];
  isSlow = false;
  setHidden(false);
  queryClient = new QueryClient();
});
afterEach(() => {
  vi.useRealTimers();
});

const timeAt = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** Returns the message of a second, which is its id. */
const messageAt = (second: number, space_id = 'first'): Message => ({
  ...(fixture('listMessages').items[0] as Message),
  space_id,
  message_id: String(second),
  created_at: timeAt(second),
});

interface Props {
  spaceId?: string;
  shown: Message | undefined;
}

async function open(shown?: Message) {
  const hook = renderHook<Props, string | null | undefined>(
    queryClient,
    ({ spaceId = 'first', shown }) => useReadPosition(spaceId, shown, { client }),
    { shown },
  );
  await vi.advanceTimersByTimeAsync(100);
  return hook;
}

test('a message counts as read after it has been shown for a moment', async () => {
  const hook = await open();
  expect(hook.current).toBe(timeAt(0));
  hook.render({ shown: messageAt(1) });
  await vi.advanceTimersByTimeAsync(1_400);
  expect(marked).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(marked).toEqual(['1']);
  // That of the visit, and the new one in the cache.
  expect(hook.current).toBe(timeAt(0));
  const { queryKey } = getParticipationOptions({ client, path: { space_id: 'first' } });
  expect(queryClient.getQueryData(queryKey)?.read_until).toBe(timeAt(1));
  hook.unmount();
  await vi.advanceTimersByTimeAsync(100);
  expect(marked).toEqual(['1']);
});

test('a message that is shown while the read position is loading is marked', async () => {
  isSlow = true;
  const hook = await open(messageAt(1));
  expect(hook.current).toBeUndefined();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(marked).toEqual(['1']);
});

test('a message a second is marked at intervals, up to one that has been shown for a moment', async () => {
  const hook = await open();
  for (let second = 1; second <= 30; second += 1) {
    hook.render({ shown: messageAt(second) });
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(marked).toEqual(['1', '21']);
  hook.unmount();
  await vi.advanceTimersByTimeAsync(100);
  expect(marked).toEqual(['1', '21', '30']);
});

test('messages are not read by a reader who leaves at once', async () => {
  const hook = await open(messageAt(1));
  hook.unmount();
  await vi.advanceTimersByTimeAsync(100);
  expect(marked).toEqual([]);
});

test('a message that was read before is not marked, and the next one not later', async () => {
  const hook = await open(messageAt(0));
  await vi.advanceTimersByTimeAsync(2_000);
  hook.render({ shown: messageAt(1) });
  await vi.advanceTimersByTimeAsync(1_600);
  expect(marked).toEqual(['1']);
});

test('nothing is shown in a hidden tab', async () => {
  const hook = await open();
  setHidden(true);
  hook.render({ shown: messageAt(1) });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(marked).toEqual([]);
  setHidden(false);
  await vi.advanceTimersByTimeAsync(1_400);
  expect(marked).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(marked).toEqual(['1']);
});

test('another space has a read position of its own', async () => {
  const hook = await open(messageAt(1));
  await vi.advanceTimersByTimeAsync(1_600);
  hook.render({ shown: messageAt(2) });
  await vi.advanceTimersByTimeAsync(1_600);
  expect(marked).toEqual(['1']);
  hook.render({ spaceId: 'second', shown: messageAt(2) });
  expect(hook.current).toBeUndefined();
  await vi.advanceTimersByTimeAsync(100);
  // The reader has left the first space.
  expect(marked).toEqual(['1', '2']);
  expect(hook.current).toBe(timeAt(0));
  hook.render({ spaceId: 'second', shown: messageAt(3, 'second') });
  await vi.advanceTimersByTimeAsync(1_600);
  expect(marked).toEqual(['1', '2', '3']);
});

test('a mark that has failed is repeated by itself, also after the reader has left', async () => {
  failures = [
    () => new Response('', { status: 503, headers: { 'Retry-After': '7' } }),
    () => Promise.reject(new TypeError('The connection was lost.')),
  ];
  const hook = await open(messageAt(1));
  await vi.advanceTimersByTimeAsync(1_600);
  hook.unmount();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(failures).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(marked).toEqual(['1']);
  const { queryKey } = getParticipationOptions({ client, path: { space_id: 'first' } });
  expect(queryClient.getQueryData(queryKey)?.read_until).toBe(timeAt(1));
});

test('marks messages that were read offline when the browser is online again', async () => {
  await open(messageAt(1));
  failures = [() => Promise.reject(new TypeError('There is no network.'))];
  onlineManager.setOnline(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([failures, marked]).toEqual([[], []]);
  onlineManager.setOnline(true);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(marked).toEqual(['1']);
});

test('a mark that is rejected for another reason is not repeated', async () => {
  failures = [() => new Response('{}', { status: 404 })];
  await open(messageAt(1));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([failures, marked]).toEqual([[], []]);
});
