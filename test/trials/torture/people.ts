import type { Operation } from '../../../server/contract.ts';
import type { TestUser } from '../../support/client.ts';
import { exampleRequest } from '../../support/requests.ts';
import { fetchWhileUnavailable } from '../../support/retry.ts';

/** Status and problem code of a response. */
export interface Outcome {
  /** Undefined without a response. */
  status: number | undefined;
  /** Problem code; undefined after success. */
  code: string | undefined;
}

/** More concurrent registrations would only wait for password hashing. */
const MAX_CONCURRENT_REGISTRATIONS = 4;

/** @param registerOne registers the user with a number */
export async function registerAll(
  count: number,
  registerOne: (i: number) => Promise<TestUser>,
): Promise<TestUser[]> {
  const people: TestUser[] = [];
  const numbers = Array.from({ length: count }, (_, i) => i).values();
  const registerNext = async () => {
    // The iterator is shared, so each number is used once.
    for (const i of numbers) people[i] = await registerOne(i);
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_REGISTRATIONS }, registerNext));
  return people;
}

/**
 * Sends the example request of an operation. Repeats it while the service is unavailable.
 * @param values replacements for examples, by the name of the parameter or body property
 * @param token  sent unless the operation is public
 */
export async function sendExample(
  url: string,
  operation: Operation,
  values: Readonly<Record<string, string>>,
  token?: string,
): Promise<{ response: Response; error?: unknown }> {
  const { url: path, init } = exampleRequest(operation, values);
  const response = await fetchWhileUnavailable(url + path, {
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
    const key = [status ?? 'no response', code].filter(Boolean).join(' ');
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return formatCounts(counts);
}

/** Returns counts as text: `200 x 3, 404 x 47`. */
export function formatCounts(counts: Iterable<readonly [name: string | number, count: number]>) {
  return Array.from(counts, ([name, count]) => `${name} x ${count}`).join(', ');
}
