import { expect } from 'vitest';
import { type RawResponse, validateRaw } from '../support/raw.ts';

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns the problem document in the response to a raw request, which may match no operation of the contract. */
export function problemOf(response: RawResponse | undefined) {
  if (!response) throw new Error('There was no response.');
  const problem = JSON.parse(validateRaw('GET', 'http://localhost/', response).body);
  expect(problem.status).toBe(response.status);
  expect(problem.request_id).toMatch(UUID);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return problem;
}
