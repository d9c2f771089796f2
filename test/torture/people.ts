import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Operation } from '../../server/contract.ts';
import { exampleRequest } from '../support/requests.ts';

/** Somebody with an account and a session. */
export interface Person {
  userId: string;
  email: string;
  password: string;
  token: string;
  /** Signed in. */
  client: Client;
}

/** What a request came to. */
export interface Outcome {
  /** Undefined if there was no answer. */
  status: number | undefined;
  /** The code of a refusal. */
  code: string | undefined;
}

/** More at once would wait for each other to be hashed. */
const AT_ONCE = 4;

/** A generated client, signed in with the token if there is one. */
export function clientOf(url: string, token?: string): Client {
  return createClient(createConfig({ baseUrl: url, ...(token && { auth: token }) }));
}

/** Signs somebody up. The name must be free, and is what the address begins with. */
export async function signUp(
  url: string,
  username: string,
  password = 'correct horse battery',
): Promise<Person> {
  const email = `${username}@example.org`;
  const { data, error } = await insist(() =>
    api.register({ client: clientOf(url), body: { username, email, password } }),
  );
  if (!data) throw new Error(`${username} could not sign up: ${JSON.stringify(error)}`);
  const { user_id: userId, access_token: token } = data;
  return { userId, email, password, token, client: clientOf(url, token) };
}

/** Signs up so many people, named by numbers. */
export async function signUpAll(url: string, count: number, name = 'person'): Promise<Person[]> {
  const people: Person[] = [];
  for (let first = 0; first < count; first += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, i) => first + i);
    people.push(...(await Promise.all(numbers.map((i) => signUp(url, `${name}-${i}`)))));
  }
  return people;
}

/**
 * Sends a request, and again after a while as often as the service says that it has more to do than it can: on a busy
 * machine that is what it should say, and no other failure is.
 */
export async function insist<Answer extends { response?: Response }>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await send();
    const seconds = Number(answer.response?.headers.get('retry-after'));
    if (answer.response?.status !== 503 || !seconds || tries === 20) return answer;
    await sleep(1000 * seconds * (0.5 + Math.random()));
  }
}

/** Sends the contract's example of a request, with other values, and signed in if the operation knows callers. */
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

/** How often each outcome occurred, to be read: `200 x 3, 409 username_taken x 47`. */
export function tally(outcomes: readonly Outcome[]): string {
  const counts = new Map<string, number>();
  for (const { status, code } of outcomes) {
    const key = [status ?? 'no answer', code].filter(Boolean).join(' ');
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key} x ${count}`).join(', ');
}
