/** A response from Prism. */
export interface PrismResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** An error in a request, as listed in Prism's response header `sl-violations`. */
interface Violation {
  /** The part of the request, such as `['request', 'query', 'limit']`. */
  location: string[];
  severity: string;
  code: string | number;
  message: string;
}

/**
 * Adapts a response to its request, because Prism returns the contract's examples unchanged:
 *
 * - The `Link` header points to a second page of the same list, which is the last one.
 * - A search with `as_typed=true` has no `Answered-Query`.
 * - URLs use the mock's address.
 * - A 400 lists the errors in this request.
 * @param url     path and query of the request
 * @param baseUrl the mock's own base URL
 */
export function adaptResponse(
  url: string,
  { status, headers: prismHeaders, body }: PrismResponse,
  baseUrl: string,
): PrismResponse {
  const { link: exampleLink, 'sl-violations': violations, ...headers } = prismHeaders;
  const link = typeof exampleLink === 'string' ? nextPageLink(url, exampleLink) : undefined;
  if (link !== undefined) headers.link = link;
  if (isSearchAsTyped(url)) delete headers['answered-query'];
  const adapted = body.replaceAll('http://127.0.0.1:3000', baseUrl);
  const isInvalidRequest = status === 400 && typeof violations === 'string';
  return { status, headers, body: isInvalidRequest ? listErrors(adapted, violations) : adapted };
}

/** Returns the link to the second page; undefined if the request is for that page. */
function nextPageLink(url: string, exampleLink: string): string | undefined {
  const { pathname, searchParams } = new URL(url, 'http://mock');
  const cursor = /[?&]cursor=([^&>]+)/.exec(exampleLink)?.[1];
  if (searchParams.has('cursor') || cursor === undefined) return undefined;
  searchParams.set('cursor', cursor);
  return `<${pathname}?${searchParams}>; rel="next"`;
}

function isSearchAsTyped(url: string): boolean {
  return new URL(url, 'http://mock').searchParams.get('as_typed') === 'true';
}

function listErrors(body: string, violations: string): string {
  const problem = JSON.parse(body);
  problem.errors = (JSON.parse(violations) as Violation[])
    .filter(({ severity }) => severity === 'Error')
    .map(describeViolation);
  return JSON.stringify(problem);
}

function describeViolation({ location: [, part, ...path], code, message }: Violation) {
  // For a missing property, Prism states the name only in the message.
  const missing = code === 'required' ? /'([^']*)'$/.exec(message)?.[1] : undefined;
  if (missing !== undefined) {
    return { pointer: pointerTo(part, [...path, missing]), message: 'is missing' };
  }
  return { pointer: pointerTo(part, path), message: /\bmust .*$/.exec(message)?.[0] ?? message };
}

/** Returns the location of an error in the notation of the contract. */
function pointerTo(part: string | undefined, path: string[]): string {
  if (part === 'query') return `?${path.join('/')}`;
  if (part === 'path') return `{${path.join('/')}}`;
  return path.map((step) => `/${step}`).join('');
}
