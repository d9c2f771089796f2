import type { IncomingMessage } from 'node:http';
import type { ProblemCode } from '../generated/problem-codes.gen.ts';
import { contract, type Operation } from '../server/contract.ts';
import { accessToken, bearerToken } from '../server/http/bearer-token.ts';
import { findBodyProblem, hasBody } from '../server/http/body-headers.ts';
import { isPercentEncodedUtf8, malformedQuery } from '../server/http/percent-encoding.ts';
import { invalidValues } from '../server/http/problems.ts';
import { readJson, selectUploadResponse } from './bodies.ts';
import { type ExampleResponse, openPrism, type Selection } from './prism.ts';
import { checkRules } from './rules.ts';
import { explainViolations } from './violations.ts';

/** A response to send. */
export interface MockResponse {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

/** Responds with the examples in the contract. */
export interface Examples {
  /**
   * Responds as the server does, as far as this requires no state.
   * @throws HttpProblem or DomainError if the request is invalid
   */
  respond(operation: Operation, incoming: IncomingMessage): Promise<MockResponse>;
  /**
   * Responds with the selected example, whatever the request is.
   * @throws HttpProblem if the contract does not have it
   */
  select(
    operation: Operation,
    incoming: IncomingMessage,
    selection: Selection,
  ): Promise<MockResponse>;
}

/** The path and query of a request. */
type Target = Pick<URL, 'pathname' | 'searchParams'>;

/** The base URL in the contract's examples. */
const EXAMPLE_BASE_URL = contract.servers[0]?.url ?? '';

/** @param baseUrl the mock's own base URL, which replaces the one in examples */
export async function openExamples(baseUrl: string): Promise<Examples> {
  const askPrism = await openPrism();

  return { respond, select };

  async function respond(operation: Operation, incoming: IncomingMessage): Promise<MockResponse> {
    // In the order of the server's checks.
    const query = incoming.url?.replace(/^[^?]*/, '') ?? '';
    if (operation.hasQueryParameters && !isPercentEncodedUtf8(query)) throw malformedQuery();
    if (!isAuthorized(operation, incoming)) return select(operation, incoming, { code: 401 });
    const problem = findBodyProblem(incoming.headers, operation);
    if (problem) throw problem;
    if (operation.bodyType === 'multipart/form-data') {
      return select(operation, incoming, await selectUploadResponse(incoming));
    }
    const url = urlOf(incoming);
    const isJson = operation.bodyType !== null && hasBody(incoming.headers);
    const body = isJson ? await readJson(incoming) : undefined;
    // Prism would take it for an omitted body, like the server if the body is optional.
    if (body === null && operation.isBodyRequired)
      throw invalidValues([{ pointer: '', message: 'must be an object' }]);
    // Prism would report an empty tag as missing.
    if (url.pathname.endsWith('/tag/')) return select(operation, incoming, { code: 404 });
    const response = await askPrism(operation, url, { body });
    const { violations } = response;
    // The server checks most patterns after the schema, as part of its rules.
    if (violations.every(({ code }) => code === 'pattern')) checkRules(operation, body);
    if (violations.length > 0) throw explainViolations(violations, url.searchParams);
    if (hasUnknownCursor(url, response)) {
      return select(operation, incoming, { code: 400, example: 'invalid_cursor' });
    }
    return adapt(operation, incoming, response);
  }

  async function select(operation: Operation, incoming: IncomingMessage, selection: Selection) {
    const response = await askPrism(operation, urlOf(incoming), { selection });
    return adapt(operation, incoming, response);
  }

  /** Does not parse the path as a URL, which would resolve the tag `..` and turn `\` into a slash. */
  function urlOf({ url = '' }: IncomingMessage): Target {
    const [, path = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(url) ?? [];
    const segments = path.split('/').map((each) => encodeURIComponent(decodeURIComponent(each)));
    return { pathname: segments.join('/'), searchParams: new URLSearchParams(query) };
  }

  /**
   * Adapts an example to the request:
   *
   * - The `Link` header points to a second page of the same list, which is the last one.
   * - A search with `as_typed=true` has no `Answered-Query`. A search with a blank `q` has no results.
   * - `WWW-Authenticate` reports whether the request had a token.
   * - `Cache-Control` is that of the server. `X-Request-Id` is that of the problem.
   * - URLs use the mock's address.
   */
  function adapt(
    operation: Operation,
    incoming: IncomingMessage,
    { status, headers: exampleHeaders, body }: ExampleResponse,
  ): MockResponse {
    const { pathname, searchParams } = urlOf(incoming);
    const { authorization = '' } = incoming.headers;
    const headers = new Headers(exampleHeaders);
    const cursor = cursorIn(headers.get('link'));
    if (cursor !== undefined) {
      const isLastPage = searchParams.has('cursor');
      searchParams.set('cursor', cursor);
      if (isLastPage) headers.delete('link');
      else headers.set('link', `<${pathname}?${searchParams}>; rel="next"`);
    }
    const isBlankSearch = status === 200 && searchParams.get('q')?.trim() === '';
    if (isBlankSearch) headers.delete('link');
    if (isBlankSearch || searchParams.get('as_typed') === 'true') headers.delete('answered-query');
    const { code, request_id } = body as { code?: ProblemCode; request_id?: string };
    if (request_id !== undefined) headers.set('x-request-id', request_id);
    if (code === 'unauthenticated' && bearerToken(authorization) !== undefined) {
      headers.set('www-authenticate', 'Bearer error="invalid_token"');
    }
    const hasCaller = operation.authentication !== 'none' && authorization !== '';
    if (status >= 400 || !operation.isPublicRead || hasCaller) {
      headers.set('cache-control', 'no-store');
    }
    return {
      status,
      headers: Object.fromEntries(headers),
      body: isBlankSearch ? '[]' : JSON.stringify(body).replaceAll(EXAMPLE_BASE_URL, baseUrl),
    };
  }
}

function isAuthorized({ authentication }: Operation, { headers }: IncomingMessage): boolean {
  if (authentication === 'none') return true;
  if (headers.authorization === undefined) return authentication === 'optional';
  return accessToken(headers.authorization) !== undefined;
}

/** Whether the cursor of a request differs from the one that the example of its list links to. */
function hasUnknownCursor({ searchParams }: Target, { headers }: ExampleResponse): boolean {
  const known = cursorIn(new Headers(headers).get('link'));
  return known !== undefined && ![known, null].includes(searchParams.get('cursor'));
}

function cursorIn(link: string | null): string | undefined {
  return /[?&]cursor=([^&>]+)/.exec(link ?? '')?.[1];
}
