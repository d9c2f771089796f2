import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { retryWhileUnavailable } from './retry.ts';

/** A user with a session. */
export interface Person {
  userId: string;
  email: string;
  password: string;
  token: string;
  /** Signed in. */
  client: Client;
}

/** Returns a generated client that sends the token, if any. */
export function clientOf(url: string, token?: string): Client {
  return createClient(createConfig({ baseUrl: url, ...(token && { auth: token }) }));
}

/** Registers a user whose email address starts with the username. */
export async function register(
  url: string,
  username: string,
  password = 'correct horse battery',
): Promise<Person> {
  const email = `${username}@example.org`;
  const { data, error } = await retryWhileUnavailable(() =>
    api.register({ client: clientOf(url), body: { username, email, password } }),
  );
  if (!data) throw new Error(`The registration of ${username} failed: ${JSON.stringify(error)}`);
  const { user_id: userId, access_token: token } = data;
  return { userId, email, password, token, client: clientOf(url, token) };
}
