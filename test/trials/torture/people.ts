import type { Operation } from '../../../server/contract.ts';
import { register, type TestUser } from '../../support/client.ts';
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

/** Registers users with numbered names. */
export async function registerAll(
  url: string,
  count: number,
  name = 'person',
): Promise<TestUser[]> {
  const people: TestUser[] = [];
  for (let first = 0; first < count; first += MAX_CONCURRENT_REGISTRATIONS) {
    const numbers = Array.from(
      { length: Math.min(MAX_CONCURRENT_REGISTRATIONS, count - first) },
      (_, i) => first + i,
    );
    people.push(...(await Promise.all(numbers.map((i) => register(url, `${name}-${i}`)))));
  }
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
