import { useEffect, useState } from 'react';
import { ApiError } from './errors.ts';

/**
 * Returns the remaining seconds until a failed request can be repeated, and counts down; null if it need not wait.
 * @param error of a query or mutation, or another value
 */
export function useSecondsToWait(error: unknown): number | null {
  const [waiting, setWaiting] = useState(() => startWaiting(error));
  if (waiting.error !== error) setWaiting(startWaiting(error));
  const { end, now } = waiting;
  useEffect(() => {
    if (end === null) return;
    const timer = setInterval(() => {
      setWaiting((before) => ({ ...before, now: Date.now() }));
      if (Date.now() >= end) clearInterval(timer);
    }, 1000);
    return () => clearInterval(timer);
  }, [end]);
  return end === null ? null : Math.max(0, Math.ceil((end - now) / 1000));
}

function startWaiting(error: unknown) {
  const { status, retryAfter } =
    error instanceof ApiError ? error : { status: null, retryAfter: null };
  const seconds = retryAfter ?? (status === 429 || status === 503 ? 1 : null);
  const now = Date.now();
  return { error, now, end: seconds === null ? null : now + seconds * 1000 };
}
