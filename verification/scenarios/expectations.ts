import { isDeepStrictEqual } from 'node:util';

/** A difference between the server's behaviour and that of the contract. */
export class Deviation extends Error {}

/** @throws Deviation unless the values are equal */
export function equal(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Deviation(`${what}: ${format(actual)} instead of ${format(expected)}`);
}

/** @throws Deviation unless the condition is met */
export function require(condition: boolean, deviation: string): asserts condition {
  if (!condition) throw new Deviation(deviation);
}

function format(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
