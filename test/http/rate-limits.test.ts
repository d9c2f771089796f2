import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { DomainError } from '../../server/errors.ts';
import { withAdditionalLimit } from '../../server/http/rate-limits.ts';
import type { Attempt, RateLimit } from '../../server/rate-limits/rate-limit.ts';

const limitWith = (end: Attempt['end']): RateLimit => ({
  beginAttempt: async () => ({
    isAllowed: true,
    limit: 1,
    remaining: 0,
    resetSeconds: 1,
    retryAfterSeconds: 1,
    end,
  }),
});

const outage = new Error('Connection terminated');
const failOnPurpose = () => Promise.reject(outage);

test('After an outage during the work, the response does not wait for the counter', async () => {
  const end = vi.fn(() => new Promise<void>(() => {}));
  await expect(withAdditionalLimit(limitWith(end), 'key', failOnPurpose)).rejects.toBe(outage);
  expect(end.mock.calls).toEqual([['failure']]);
});

test('After an outage during the work, an unavailable counter logs no warning', async () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const limit = limitWith(failOnPurpose);
  await expect(withAdditionalLimit(limit, 'key', failOnPurpose)).rejects.toBe(outage);
  await setImmediate();
  expect(emitWarning).not.toHaveBeenCalled();
});

test('After rejected work, the response waits until the counter is updated', async () => {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const rejection = new DomainError('invalid_request', 'The request is invalid.');
  let isRejected = false;
  const limited = withAdditionalLimit(
    limitWith(() => ended),
    'key',
    () => Promise.reject(rejection),
  ).catch((error: unknown) => {
    isRejected = true;
    return error;
  });
  await setImmediate();
  expect(isRejected).toBe(false);
  resolve();
  expect(await limited).toBe(rejection);
});
