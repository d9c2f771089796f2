import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { fetchWhileUnavailable } from './retry.ts';

/** A registered user with a session. */
export interface TestUser {
  userId: string;
  username: string;
  email: string;
  password: string;
  token: string;
  /** Signed in. */
  client: Client;
  /** The `Authorization` header, for a plain `fetch`. */
  headers: Record<string, string>;
}

/** Returns a generated client that sends the token, if any. */
export function clientOf(url: string, token?: string): Client {
  return createClient(createConfig({ baseUrl: url, ...(token && { auth: token }) }));
}

/** Returns such a client that repeats requests while the service is unavailable. */
export function retryingClientOf(url: string, token?: string): Client {
  const client = clientOf(url, token);
  client.setConfig({ fetch: fetchWhileUnavailable });
  return client;
}

/**
 * Registers a user at the server with this URL. This request and those of the user's client are repeated while the
 * service is unavailable.
 */
export function register(url: string, username: string, password?: string): Promise<TestUser> {
  return registerWith((token) => retryingClientOf(url, token), username, password);
}

/**
 * Registers a user whose email address starts with the username.
 * @param clientFor returns a client that sends the token, if any
 * @throws the problem document of a rejected registration
 */
export async function registerWith(
  clientFor: (token?: string) => Client,
  username: string,
  password = 'correct horse battery',
): Promise<TestUser> {
  const email = `${encodeURIComponent(username).replaceAll('%', '')}@example.com`;
  const body = { username, email, password };
  const { data, error } = await api.register({ client: clientFor(), body });
  if (!data) throw error;
  const { user_id: userId, access_token: token } = data;
  const headers = { authorization: `Bearer ${token}` };
  return { userId, username, email, password, token, client: clientFor(token), headers };
}
