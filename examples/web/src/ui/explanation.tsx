import { useEffect, useState } from 'react';
import {
  explain,
  isSessionChange,
  isSignInRequired,
  isTemporary,
  secondsToWait,
} from '../errors.ts';

/** Explains a failed request, with the remaining time until it can be repeated. */
export function Explanation({ error }: { error: unknown }) {
  const remaining = useRemainingSeconds(error);
  return (
    <>
      {explain(error)}
      {/* Screen readers announce the time only once. */}
      {remaining !== null && <span aria-live="off"> Try again {fromNow(remaining)}.</span>}
    </>
  );
}

/** Shows instead of content why it could not be loaded, with a button that loads it again if this can succeed. */
export function Failure({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const remaining = useRemainingSeconds(error);
  if (!isShown(error)) return null;
  return (
    <div className="failure" role="alert">
      <p>
        <Explanation error={error} />
      </p>
      {isTemporary(error) && (
        <button type="button" className="secondary" disabled={!!remaining} onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Shows above the fields of a form why it could not be sent. */
export function FormFailure({ error }: { error: unknown }) {
  return (
    <div className="form-failure" role="alert">
      {isShown(error) && (
        <p>
          <Explanation error={error} />
        </p>
      )}
    </div>
  );
}

/** Of an ended session, the page tells by asking to sign in. */
function isShown(error: unknown): boolean {
  return !!error && !isSignInRequired(error) && !isSessionChange(error);
}

/** Counts down; null if the request need not wait. */
function useRemainingSeconds(error: unknown): number | null {
  const [{ error: lastError, end }, setEnd] = useState(() => ({ error, end: endOf(error) }));
  if (lastError !== error) setEnd({ error, end: endOf(error) });
  const [now, setNow] = useState(() => Date.now());
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
  const seconds = secondsToWait(error);
  return seconds === null ? null : Date.now() + seconds * 1000;
}

/** Returns a time in words, such as “in 42 seconds”. */
function fromNow(seconds: number): string {
  if (seconds === 0) return 'now';
  const format = new Intl.RelativeTimeFormat('en');
  if (seconds < 100) return format.format(seconds, 'second');
  return format.format(Math.ceil(seconds / 60), 'minute');
}
