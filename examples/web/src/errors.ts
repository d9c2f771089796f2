import { ApiError } from 'space-service';
import { find } from './dom.ts';
import { askToSignIn } from './session.ts';

/** Returns whether the access token is missing or its session has ended. A wrong password is another error. */
export function isSignInRequired(error: unknown): boolean {
  return error instanceof ApiError && error.problem?.code === 'unauthenticated';
}

/**
 * Explains a failed request to a person.
 * @throws the error if it is not a failed request
 */
export function explain(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  const { status, problem, retryAfter } = error;
  if (status === null) return 'The service cannot be reached. Check your connection and try again.';
  if (status === 429) return `Too many requests. Try again ${fromNow(retryAfter)}.`;
  if (status === 503) return `The service is busy. Try again ${fromNow(retryAfter)}.`;
  return problem?.detail ?? 'The service sent an unexpected response. Try again later.';
}

/** Shows above the view why it could not be loaded, with a button that loads it again if this can succeed. */
export function showFailure(error: unknown): void {
  if (isSignInRequired(error)) {
    askToSignIn();
    return;
  }
  find('#failure p').textContent = explain(error);
  find('#failure button').hidden = !isTemporary(error);
  find('#failure').hidden = false;
}

export function hideFailure(): void {
  find('#failure').hidden = true;
}

/** Returns whether the same request can succeed later. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { status } = error;
  return status === null || status === 429 || status >= 500;
}

/** Returns a time in words, such as “in 42 seconds”. */
function fromNow(seconds: number | null): string {
  if (seconds === null) return 'later';
  const format = new Intl.RelativeTimeFormat('en');
  if (seconds < 100) return format.format(seconds, 'second');
  return format.format(Math.ceil(seconds / 60), 'minute');
}
