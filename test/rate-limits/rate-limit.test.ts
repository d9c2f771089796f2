import { RateLimiterMemory } from 'rate-limiter-flexible';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRateLimit } from '../../server/rate-limits/rate-limit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const open = () =>
  createRateLimit({ counter: new RateLimiterMemory({ points: 3, duration: 60 }) }, (key) => key);

test('An attempt that turns out not to count is taken back', async () => {
  const limit = open();
  const first = await limit.beginAttempt('ada');
  await first.end('uncounted');
  expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: true, remaining: 2 });
});

test('An attempt that ends after its period does not change the count of the next one', async () => {
  const limit = open();
  const first = await limit.beginAttempt('ada');
  vi.advanceTimersByTime(60_000);
  await limit.beginAttempt('ada');
  await first.end('uncounted');
  expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: true, remaining: 1 });
});
