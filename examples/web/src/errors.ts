import { onlineManager } from '@tanstack/react-query';
import { ApiError, fieldErrors, SearchError, SessionChangedError } from 'space-service';

/** Returns the error of a request; undefined for a mistake in the page. */
export function apiErrorOf(error: unknown): ApiError | undefined {
  if (error instanceof SearchError) return apiErrorOf(error.cause);
  return error instanceof ApiError ? error : undefined;
}

/** Returns the problem code, by which the page decides; undefined if the service did not respond. */
export function codeOf(error: unknown): string | undefined {
  return apiErrorOf(error)?.code ?? undefined;
}

/** Returns whether an error is explained where it happened. Of an ended session, a dialog tells. */
export function isExplained(error: unknown): boolean {
  const isOfSession = apiErrorOf(error)?.cause instanceof SessionChangedError;
  return !!error && codeOf(error) !== 'unauthenticated' && !isOfSession;
}

/** Explains a failed request to a person, without the time to wait. */
export function explain(error: unknown): string {
  const { status, problem, quota } = apiErrorOf(error) ?? {};
  if (status === undefined) return 'Something went wrong. Reload the page.';
  if (status === null) {
    if (!onlineManager.isOnline()) return 'You are offline.';
    return 'The service cannot be reached. Check your connection.';
  }
  if (status < 300) return 'Another server responded. Does your network ask you to sign in?';
  if (quota) {
    return `You have reached the limit of ${quota.limit.toLocaleString('en')} per ${quota.period}.`;
  }
  if (status === 429) return 'Too many requests.';
  if (status === 503) return 'The service is busy.';
  if (!problem) return 'The service sent an unexpected response. Try again later.';
  return status < 500 ? problem.detail : `${problem.detail} Request ${problem.request_id}.`;
}

/**
 * Returns what is wrong with the fields of a form, by their names. With the code `invalid_request`, the explanation lists
 * all invalid fields, so each field gets its own message. With any other code, it is about one field and says more.
 */
export function fieldErrorsOf(error: unknown): Record<string, string> {
  const fields = fieldErrors(error);
  if (codeOf(error) === 'invalid_request') return fields;
  return Object.fromEntries(Object.keys(fields).map((name) => [name, explain(error)]));
}
