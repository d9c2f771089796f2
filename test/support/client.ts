import { type Client, createClient, createConfig } from '../../generated/client/index.ts';

/** Returns a generated client that sends the token, if any. */
export function clientOf(url: string, token?: string): Client {
  return createClient(createConfig({ baseUrl: url, ...(token && { auth: token }) }));
}
