import { QueryClient } from '@tanstack/react-query';
import { afterEach, expect, test, vi } from 'vitest';
import { ApiError } from '../../client/index.ts';
import { useSecondsToWait } from '../../client/tanstack-react-query.ts';
import { renderHook, useDocument } from './render-hook.ts';

useDocument();

afterEach(() => {
  vi.useRealTimers();
});

const errorAfter = (seconds: number) =>
  new ApiError(new Response('', { status: 429, headers: { 'Retry-After': `${seconds}` } }), '');

test('useSecondsToWait counts down, and begins again with another error', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
  const hook = renderHook<unknown, number | null>(new QueryClient(), useSecondsToWait, null);
  expect(hook.current).toBeNull();
  await vi.advanceTimersByTimeAsync(60_000);
  hook.render(errorAfter(10));
  expect(hook.current).toBe(10);
  await vi.advanceTimersByTimeAsync(3_000);
  await vi.waitFor(() => expect(hook.current).toBe(7));
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(hook.current).toBe(0));
  hook.render(errorAfter(5));
  expect(hook.current).toBe(5);
  hook.render(new ApiError(new Response('', { status: 404 }), ''));
  expect(hook.current).toBeNull();
  hook.unmount();
});
