import { type Client, createClient, createConfig } from '../generated/client/index.ts';
import { ApiError } from './errors.ts';

/** Where the service is and how to reach it. */
export interface ApiOptions {
  /** What the contract's paths are relative to, such as `https://spaces.example.com`. */
  baseUrl: string;
  /** Takes the place of the global `fetch`. It is called with a `Request`. */
  fetch?: typeof fetch;
}

/** An access token, or a function that is asked for one before each request. */
export type AccessToken = string | (() => string | Promise<string>);

/** A client of its own for each API object, so that none sees another's token or address. */
export function connect({ baseUrl, fetch }: ApiOptions, token?: AccessToken): Client {
  // JSON is all that the contract has, even where a proxy drops or changes an answer's type.
  return createClient(createConfig({ baseUrl, fetch, auth: token, parseAs: 'json' }));
}

/**
 * The data of an answer.
 * @param field one that the data must have: the generated client reads an empty answer as `{}`
 * @throws ApiError
 */
export async function dataOf<T extends object>(
  request: Promise<{ data: T | undefined; error: unknown; response?: Response }>,
  field: keyof T,
): Promise<T> {
  const { data, error, response } = await request;
  if (data !== undefined && field in Object(data)) return data;
  throw new ApiError(response, error ?? data);
}
