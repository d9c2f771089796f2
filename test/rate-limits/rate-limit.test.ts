import { RateLimiterMemory } from 'rate-limiter-flexible';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRateLimit } from '../../server/rate-limits/rate-limit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const open = () =>
  createRateLimit({ counter: new RateLimiterMemory({ points: 3, duration: 60 }) }, (key) => key);

test('Removes a rejected attempt from the count', async () => {
  const limit = open();
  const first = await limit.beginAttempt('ada');
  await first.end('rejection');
  expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: true, remaining: 2 });
});

test('Rejected attempts do not count once pending attempts have been taken back', async () => {
  const limit = open();
  const pending = [];
  for (let i = 0; i < 3; i += 1) pending.push(await limit.beginAttempt('ada'));
  for (let i = 0; i < 3; i += 1) {
    expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: false, remaining: 0 });
  }
  for (const attempt of pending) await attempt.end('rejection');
  expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: true, remaining: 2 });
});

test('Rejects for a second if only pending attempts exceed a limit of failures', async () => {
  const counter = new RateLimiterMemory({ points: 3, duration: 60 });
  const limit = createRateLimit({ counter, counts: 'failures' }, (key) => key);
  const pending = [];
  for (let i = 0; i < 3; i += 1) pending.push(await limit.beginAttempt('ada'));
  expect(await limit.beginAttempt('ada')).toMatchObject({
    isAllowed: false,
    resetSeconds: 60,
    retryAfterSeconds: 1,
  });
  for (const attempt of pending) await attempt.end('success');
  expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: true });
});

test('A rejected attempt that ends after its period does not change the count of the next period', async () => {
  const limit = open();
  const first = await limit.beginAttempt('ada');
  vi.advanceTimersByTime(60_000);
  await limit.beginAttempt('ada');
  await first.end('rejection');
  expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: true, remaining: 1 });
});

test('A rejected attempt that ends after a success has reset the count is not removed from it again', async () => {
  const counter = new RateLimiterMemory({ points: 3, duration: 60 });
  const overflowCounter = new RateLimiterMemory({ points: 1, duration: 5 });
  const rule = { counter, overflowCounter, isResetBySuccess: true };
  const limit = createRateLimit(rule, (key) => key);
  const attempts = [];
  for (let i = 0; i < 4; i += 1) attempts.push(await limit.beginAttempt('ada'));
  await attempts[0]?.end('success');
  // Both counters have counted the last attempt.
  await attempts[3]?.end('rejection');
  expect(await limit.beginAttempt('ada')).toMatchObject({ isAllowed: true, remaining: 2 });
  expect(await overflowCounter.get('ada')).toBeNull();
});
