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

/** Registers a user at the server with this URL. Tries again while it is unavailable. */
export function register(url: string, username: string, password?: string): Promise<TestUser> {
  const clientFor = (token?: string) => clientOf(url, token);
  return registerWith(clientFor, username, password, retryWhileUnavailable);
}

/**
 * Registers a user whose email address starts with the username.
 * @param clientFor returns a client that sends the token, if any
 * @param attempt sends the request, once by default
 * @throws the problem document of a rejected registration
 */
export async function registerWith(
  clientFor: (token?: string) => Client,
  username: string,
  password = 'correct horse battery',
  attempt: typeof retryWhileUnavailable = (send) => send(),
): Promise<TestUser> {
  const email = `${encodeURIComponent(username).replaceAll('%', '')}@example.com`;
  const { data, error } = await attempt(() =>
    api.register({ client: clientFor(), body: { username, email, password } }),
  );
  if (!data) throw error;
  const { user_id: userId, access_token: token } = data;
  const headers = { authorization: `Bearer ${token}` };
  return { userId, username, email, password, token, client: clientFor(token), headers };
}
