import { useEffect, useState } from 'react';
import { ApiError } from './errors.ts';

/**
 * Returns the remaining seconds until a failed request can be repeated, and counts down; null if it need not wait.
 * @param error of a query or mutation, or another value
 */
export function useSecondsToWait(error: unknown): number | null {
  const [waiting, setWaiting] = useState(() => ({ error, end: endOf(error) }));
  if (waiting.error !== error) setWaiting({ error, end: endOf(error) });
  const { end } = waiting;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (end === null) return;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= end) clearInterval(timer);
    }, 1000);
    return () => clearInterval(timer);
  }, [end]);
  return end === null ? null : Math.max(0, Math.ceil((end - now) / 1000));
}

function endOf(error: unknown): number | null {
  const { status, retryAfter } =
    error instanceof ApiError ? error : { status: null, retryAfter: null };
  const seconds = retryAfter ?? (status === 429 || status === 503 ? 1 : null);
  return seconds === null ? null : Date.now() + seconds * 1000;
}
