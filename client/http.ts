import { type Client, createClient, createConfig } from '../generated/client/index.ts';
import { toApiError } from './errors.ts';

/** The address of the service, and the `fetch` to use. */
export interface ApiOptions {
  /** Base URL of the service without `/api`, such as `https://spaces.example.com`. */
  baseUrl: string;
  /** Replaces the global `fetch`. It is called with a `Request`. */
  fetch?: typeof fetch;
}

/** An access token, or a function that returns one. The function is called before each request. */
export type AccessToken = string | (() => string | Promise<string>);

/** A response as the generated client returns it. */
export type ClientResponse<T> = Promise<{
  data: T | undefined;
  error: unknown;
  response?: Response;
}>;

/**
 * Creates a client for one API object. Other objects do not share its token or base URL.
 * @param options undefined only if JavaScript code omits it
 * @throws TypeError if the base URL is not an HTTP URL, a path or empty
 */
export function createApiClient(options: ApiOptions | undefined, token?: AccessToken): Client {
  const { baseUrl, fetch } = options ?? {};
  // Web pages can use the path or the empty URL of their own origin.
  if (typeof baseUrl !== 'string' || !/^(https?:\/\/|\/|$)/i.test(baseUrl)) {
    throw new TypeError(
      `The option baseUrl is ${baseUrl}. Set it to a string such as https://spaces.example.com.`,
    );
  }
  // Parses every response as JSON, because a proxy may drop or change the content type.
  return createClient(createConfig({ baseUrl, fetch, auth: token, parseAs: 'json' }));
}

/**
 * Returns the JSON object in a response.
 * @param field a required field of the object. It detects empty bodies, which the generated client
 *   parses as `{}`.
 * @throws `ApiError` if the request fails or the response is not such an object
 */
export async function receiveObject<T extends object>(
  request: ClientResponse<T>,
  field: keyof T,
): Promise<T> {
  const { data, error, response } = await request;
  if (data !== undefined && field in Object(data)) return data;
  throw toApiError(response, error ?? data);
}

/** A page of a list. The two searches return its items as an array. */
export type Page<Item> = { items: Item[]; next_cursor: string | null };

/**
 * Returns the page in a response. For an array of items, its cursor is that of the `Link` header.
 * @throws `ApiError` if the request fails or the response is not a page
 */
export async function receivePage<Item>(
  request: ClientResponse<Page<Item> | Item[]>,
): Promise<Page<Item>> {
  const { data, error, response } = await request;
  if (Array.isArray(data)) return { items: data, next_cursor: cursorInLink(response) };
  if (Array.isArray(data?.items)) return data;
  throw toApiError(response, error ?? data);
}

/** Returns the cursor in the `Link` header; null without one. */
function cursorInLink(response: Response | undefined): string | null {
  const link = response?.headers.get('Link') ?? '';
  return /<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(link)?.[1] ?? null;
}
