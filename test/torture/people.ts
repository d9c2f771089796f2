import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Operation } from '../../server/contract.ts';
import { exampleRequest } from '../support/requests.ts';

/** A user with a session. */
export interface Person {
  userId: string;
  email: string;
  password: string;
  token: string;
  /** Signed in. */
  client: Client;
}

/** Status and problem code of a response. */
export interface Outcome {
  /** Undefined without a response. */
  status: number | undefined;
  /** Problem code; undefined after success. */
  code: string | undefined;
}

/** Maximum number of concurrent registrations. More would only wait for password hashing. */
const MAX_CONCURRENT_REGISTRATIONS = 4;

/** A generated client, signed in with the token if there is one. */
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
  if (!data) throw new Error(`${username} could not sign up: ${JSON.stringify(error)}`);
  const { user_id: userId, access_token: token } = data;
  return { userId, email, password, token, client: clientOf(url, token) };
}

/** Registers users with numbered names. */
export async function registerAll(url: string, count: number, name = 'person'): Promise<Person[]> {
  const people: Person[] = [];
  for (let first = 0; first < count; first += MAX_CONCURRENT_REGISTRATIONS) {
    const numbers = Array.from(
      { length: Math.min(MAX_CONCURRENT_REGISTRATIONS, count - first) },
      (_, i) => first + i,
    );
    people.push(...(await Promise.all(numbers.map((i) => register(url, `${name}-${i}`)))));
  }
  return people;
}

/** Sends a request and retries it up to 20 times while the service responds 503 with Retry-After. */
export async function retryWhileUnavailable<Answer extends { response?: Response }>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await send();
    const seconds = Number(answer.response?.headers.get('retry-after'));
    if (answer.response?.status !== 503 || !seconds || tries === 20) return answer;
    await sleep(1000 * seconds * (0.5 + Math.random()));
  }
}

/**
 * Sends the example request of an operation.
 * @param values replace examples, by the names of parameters and body properties
 * @param token  sent unless the operation is public
 */
export async function sendExample(
  url: string,
  operation: Operation,
  values: Readonly<Record<string, string>>,
  token?: string,
): Promise<{ response: Response; error?: unknown }> {
  const { url: path, init } = exampleRequest(operation, values);
  const response = await fetch(url + path, {
    ...init,
    headers: {
      ...(init.headers as Record<string, string>),
      ...(token && operation.authentication !== 'none' && { authorization: `Bearer ${token}` }),
    },
  });
  const body: unknown = await response.json();
  return response.ok ? { response } : { response, error: body };
}

export function outcomeOf({ response, error }: { response?: Response; error?: unknown }): Outcome {
  const code = (error as { code?: string } | undefined)?.code;
  return { status: response?.status, code };
}

/** Returns the frequency of each outcome as text: `200 x 3, 409 username_taken x 47`. */
export function tally(outcomes: readonly Outcome[]): string {
  const counts = new Map<string, number>();
  for (const { status, code } of outcomes) {
    const key = [status ?? 'no answer', code].filter(Boolean).join(' ');
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key} x ${count}`).join(', ');
}
