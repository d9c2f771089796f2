import type { Problem, SearchResult } from '../generated/types.gen.ts';

/**
 * A request that failed: the service refused it, something on the way answered in its place, or no
 * answer came. `cause` is the body of the answer, or the error of `fetch` or of the token function.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status of the answer; null where none came. */
  readonly status: number | null;
  /** What the service says is wrong; null where none came, or the answer was not the service's. */
  readonly problem: Problem | null;
  /** Seconds after which to try again, from `Retry-After`; null where the answer names none. */
  readonly retryAfter: number | null;

  constructor(response: Response | undefined, cause: unknown) {
    const problem = isProblem(cause) ? cause : null;
    super(problem?.detail ?? describe(response, cause), { cause });
    this.status = response?.status ?? null;
    this.problem = problem;
    this.retryAfter = Number.parseInt(response?.headers.get('Retry-After') ?? '', 10) || null;
  }
}

/** A search of which one half or both failed. `cause` is the first failure. */
export class SearchError extends Error {
  override readonly name = 'SearchError';
  /** What the tag search found; null where it failed. */
  readonly tagSearchResults: SearchResult[] | null;
  /** What the full-text search found; null where it failed. */
  readonly generalSearchResults: SearchResult[] | null;
  /** Why the tag search failed; null where it did not. */
  readonly tagSearchError: ApiError | null;
  /** Why the full-text search failed; null where it did not. */
  readonly generalSearchError: ApiError | null;

  constructor(
    tag: PromiseSettledResult<SearchResult[]>,
    general: PromiseSettledResult<SearchResult[]>,
  ) {
    const tagSearchError = tag.status === 'rejected' ? (tag.reason as ApiError) : null;
    const generalSearchError = general.status === 'rejected' ? (general.reason as ApiError) : null;
    const failures = [tagSearchError, generalSearchError].filter((error) => error !== null);
    const messages = new Set(failures.map(({ message }) => message));
    super([...messages].join(' '), { cause: failures[0] });
    this.tagSearchResults = tag.status === 'fulfilled' ? tag.value : null;
    this.generalSearchResults = general.status === 'fulfilled' ? general.value : null;
    this.tagSearchError = tagSearchError;
    this.generalSearchError = generalSearchError;
  }
}

/** By its shape: proxies answer with JSON too. */
function isProblem(body: unknown): body is Problem {
  const { code, detail, errors } = Object(body) as Record<string, unknown>;
  return typeof code === 'string' && typeof detail === 'string' && Array.isArray(errors);
}

function describe(response: Response | undefined, cause: unknown): string {
  if (response) return `The answer (HTTP ${response.status}) did not come from the service.`;
  return `No answer came: ${cause instanceof Error ? cause.message : String(cause)}`;
}
