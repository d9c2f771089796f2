import { useSecondsToWait } from 'space-service/tanstack-react-query';
import { apiErrorOf, explain, isExplained } from '../errors.ts';

/** Explains a failed request, with the remaining time until it can be repeated. */
export function Explanation({ error }: { error: unknown }) {
  const remaining = useSecondsToWait(apiErrorOf(error));
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
  const remaining = useSecondsToWait(apiErrorOf(error));
  if (!isExplained(error)) return null;
  return (
    <div className="failure" role="alert">
      <p>
        <Explanation error={error} />
      </p>
      {apiErrorOf(error)?.isTemporary && (
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
      {isExplained(error) && (
        <p>
          <Explanation error={error} />
        </p>
      )}
    </div>
  );
}

/** Returns a time in words, such as “in 42 seconds”. */
function fromNow(seconds: number): string {
  if (seconds === 0) return 'now';
  const format = new Intl.RelativeTimeFormat('en');
  if (seconds < 100) return format.format(seconds, 'second');
  return format.format(Math.ceil(seconds / 60), 'minute');
}
