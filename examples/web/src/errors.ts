import { ApiError, SearchError } from 'space-service';

/** Returns whether the access token is missing or its session has ended. A wrong password is another error. */
export function isSignInRequired(error: unknown): boolean {
  return codeOf(error) === 'unauthenticated';
}

/** Returns the problem code, by which the page decides; undefined if the service did not respond. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ApiError ? (error.code ?? undefined) : undefined;
}

/** Returns whether the same request can succeed later. */
export function isTemporary(error: unknown): boolean {
  if (isSessionChange(error)) return false;
  if (error instanceof SearchError) return isTemporary(error.cause);
  if (!(error instanceof ApiError)) return false;
  const { status } = error;
  return status === null || status === 429 || status >= 500;
}

/** Explains a failed request to a person, without the time to wait. */
export function explain(error: unknown): string {
  if (error instanceof SearchError) return explain(error.cause);
  if (!(error instanceof ApiError)) return 'Something went wrong. Reload the page.';
  const { status, problem } = error;
  if (status === null) return 'The service cannot be reached. Check your connection and try again.';
  if (status === 429) return 'Too many requests.';
  if (status === 503) return 'The service is busy.';
  return problem?.detail ?? 'The service sent an unexpected response. Try again later.';
}

/** Returns the seconds after which a request can be repeated; null if it need not wait. */
export function secondsToWait(error: unknown): number | null {
  if (error instanceof SearchError) return secondsToWait(error.cause);
  if (!(error instanceof ApiError)) return null;
  return error.status === 429 || error.status === 503 ? (error.retryAfter ?? 1) : null;
}

/**
 * Returns what is wrong with the fields of a form, by their names. With the code `invalid_request`, the explanation lists
 * all invalid fields, so each field gets its own message. With any other code, it is about one field and says more.
 */
export function fieldErrorsOf(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError) || !error.problem) return {};
  const { code, detail, errors } = error.problem;
  return Object.fromEntries(
    errors.map(({ pointer, message }) => [
      // A JSON Pointer into the body, such as /username or /tags/0.
      pointer?.split('/')[1] ?? '',
      code === 'invalid_request' ? message : detail,
    ]),
  );
}

/** A response is discarded, because the session has changed since its request. */
export class SessionChangedError extends Error {
  override readonly name = 'SessionChangedError';
}

export function isSessionChange(error: unknown): boolean {
  return error instanceof ApiError && error.cause instanceof SessionChangedError;
}
