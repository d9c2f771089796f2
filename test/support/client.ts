import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { retryWhileUnavailable } from './retry.ts';

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

/** Registers a user at the server with this URL. */
export function register(url: string, username: string, password?: string): Promise<TestUser> {
  return registerWith((token) => clientOf(url, token), username, password);
}

/**
 * Registers a user whose email address starts with the username.
 * @param clientFor returns a client that sends the token, if any
 */
export async function registerWith(
  clientFor: (token?: string) => Client,
  username: string,
  password = 'correct horse battery',
): Promise<TestUser> {
  const email = `${encodeURIComponent(username).replaceAll('%', '')}@example.com`;
  const { data, error } = await retryWhileUnavailable(() =>
    api.register({ client: clientFor(), body: { username, email, password } }),
  );
  if (!data) throw new Error(`The registration of ${username} failed: ${JSON.stringify(error)}`);
  const { user_id: userId, access_token: token } = data;
  const headers = { authorization: `Bearer ${token}` };
  return { userId, username, email, password, token, client: clientFor(token), headers };
}
