import type { ProblemCode } from '../generated/problem-codes.gen.ts';
import type { Problem, SearchResult } from '../generated/types.gen.ts';

/**
 * A failed request: the service returned an error, another server such as a proxy responded, or
 * there was no response. `cause` is the response body, or the error thrown by `fetch` or by the
 * token function.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status of the response; null if there was no response. */
  readonly status: number | null;
  /** The kind of the error; null if the service did not send an error document. */
  readonly code: ProblemCode | (string & {}) | null;
  /** The error document from the service; null if the service did not send one. */
  readonly problem: Problem | null;
  /** Seconds to wait before the next attempt, from the header `Retry-After`; null without it. */
  readonly retryAfter: number | null;
  /** The quota of the account that the request exceeds; null for other errors, also those of other limits. */
  readonly quota: { limit: number; period: 'hour' | 'day' } | null;

  constructor(response: Response | undefined, cause: unknown) {
    const problem = isProblem(cause) ? cause : null;
    super(problem?.detail ?? describeFailure(response, cause), { cause });
    this.status = response?.status ?? null;
    this.code = problem?.code ?? null;
    this.problem = problem;
    const seconds = Number.parseInt(response?.headers.get('Retry-After') ?? '', 10);
    this.retryAfter = seconds > 0 ? seconds : null;
    this.quota = quotaOf(response);
  }

  /**
   * Whether the same request can succeed later: without a response, after 408, 429 and errors of the server, and if
   * another server has responded with success.
   */
  get isTemporary(): boolean {
    const { status, cause } = this;
    if (cause instanceof SessionChangedError) return false;
    return status === null || status < 300 || status === 408 || status === 429 || status >= 500;
  }
}

/** The cause of an `ApiError`: the response is discarded, because the session has changed since the request. */
export class SessionChangedError extends Error {
  override readonly name = 'SessionChangedError';

  constructor() {
    super('The session has changed since the request.');
  }
}

/** Returns an error that is an `ApiError` already, and others as the cause of one. */
export function toApiError(response: Response | undefined, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(error instanceof SessionChangedError ? undefined : response, error);
}

/**
 * Returns what is wrong with the fields of a request, to show it next to them: `{ username: 'is taken' }`. The keys are
 * the names of fields of the body and of parameters. Empty for other errors.
 */
export function fieldErrors(error: unknown): Record<string, string> {
  const errors = error instanceof ApiError ? (error.problem?.errors ?? []) : [];
  const fields: Record<string, string> = {};
  for (const { pointer, name, message } of errors) {
    // A JSON Pointer into the body, such as /username or /tags/0.
    const field = name ?? pointer?.split('/')[1];
    if (field) fields[field] ??= message;
  }
  return fields;
}

/** A failed search: the tag search, the text search or both failed. `cause` is the first error. */
export class SearchError extends Error {
  override readonly name = 'SearchError';
  /** Results of the tag search; null if it failed. */
  readonly tagSearchResults: SearchResult[] | null;
  /** Results of the text search; null if it failed. */
  readonly generalSearchResults: SearchResult[] | null;
  /** Error of the tag search; null if it succeeded. */
  readonly tagSearchError: ApiError | null;
  /** Error of the text search; null if it succeeded. */
  readonly generalSearchError: ApiError | null;

  constructor(
    tag: PromiseSettledResult<SearchResult[]>,
    general: PromiseSettledResult<SearchResult[]>,
  ) {
    const tagSearchError = tag.status === 'rejected' ? (tag.reason as ApiError) : null;
    const generalSearchError = general.status === 'rejected' ? (general.reason as ApiError) : null;
    const errors = [tagSearchError, generalSearchError].filter((error) => error !== null);
    const distinctMessages = new Set(errors.map(({ message }) => message));
    super([...distinctMessages].join(' '), { cause: errors[0] });
    this.tagSearchResults = tag.status === 'fulfilled' ? tag.value : null;
    this.generalSearchResults = general.status === 'fulfilled' ? general.value : null;
    this.tagSearchError = tagSearchError;
    this.generalSearchError = generalSearchError;
  }
}

/** Returns the quota that a response with 429 is about. Other limits have no header `RateLimit-Policy`. */
function quotaOf(response: Response | undefined): ApiError['quota'] {
  const policy = response?.status === 429 ? response.headers.get('RateLimit-Policy') : null;
  const [, limit, seconds] = /^(\d+);w=(3600|86400)$/.exec(policy ?? '') ?? [];
  return limit ? { limit: Number(limit), period: seconds === '3600' ? 'hour' : 'day' } : null;
}

/** Checks the fields, because proxies also return JSON errors. */
function isProblem(body: unknown): body is Problem {
  const { code, detail, errors } = Object(body) as Record<string, unknown>;
  return typeof code === 'string' && typeof detail === 'string' && Array.isArray(errors);
}

function describeFailure(response: Response | undefined, cause: unknown): string {
  if (response) {
    return `Unexpected response with HTTP status ${response.status}. Check the base URL and any proxy.`;
  }
  if (!(cause instanceof Error)) return `No response: ${String(cause)}`;
  const reason = innermostCause(cause);
  return `No response: ${cause.message}${reason === cause ? '' : ` (${reason.message})`}`;
}

/** Returns the reason for an error. `fetch` of Node.js fails with "fetch failed", and only its causes say why. */
function innermostCause(error: Error): Error {
  // An AggregateError has one error for each address of a host name.
  const { cause, errors } = error as { cause?: unknown; errors?: unknown[] };
  const next = cause ?? errors?.[0];
  return next instanceof Error ? innermostCause(next) : error;
}

/** Returns why a signal was aborted. In React Native, signals have no reason, and there is no DOMException. */
export function abortReason(signal: AbortSignal): unknown {
  const error = new Error('The request was aborted.');
  error.name = 'AbortError';
  return signal.reason ?? error;
}
