import { expect, test } from 'vitest';
import { type Operation, operations } from '../../verification/contract.ts';
import { explainViolation } from '../../verification/scenarios/responses.ts';

const getUser = operations.find(({ operationId }) => operationId === 'getUser') as Operation;
const problem = {
  type: 'about:blank',
  title: 'Not Found',
  status: 404,
  detail: 'The user does not exist.',
  code: 'user_not_found',
  request_id: 'r1',
  errors: [],
};

function explain(body: object, status: number, headers: Record<string, string> = {}) {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  const text = JSON.stringify(body);
  const all = {
    'content-type': type,
    'x-request-id': 'r1',
    'cache-control': 'no-store',
    ...headers,
  };
  return explainViolation(getUser, new Response(text, { status, headers: all }), text);
}

test('accepts a declared problem', () => {
  expect(explain(problem, 404)).toBeUndefined();
});

test.each([
  ['an undeclared status', explain(problem, 418), 'the status is not declared'],
  ['another status in the body', explain({ ...problem, status: 400 }, 404), '"status" is 400'],
  [
    'a code of another operation',
    explain({ ...problem, code: 'space_not_found' }, 404),
    'space_not_found',
  ],
  ['another request id', explain({ ...problem, request_id: 'r2' }, 404), 'request_id differs'],
  ['a missing field', explain({ ...problem, errors: undefined }, 404), 'errors'],
  ['an undeclared field', explain({ ...problem, more: 1 }, 404), '/more is not declared'],
  [
    'another type',
    explain(problem, 404, { 'content-type': 'application/json' }),
    'application/json',
  ],
  ['a header of another type', explain(problem, 429, { 'retry-after': '0' }), 'Retry-After'],
  [
    'a response that caches may keep',
    explain(problem, 404, { 'cache-control': 'public' }),
    'no-store',
  ],
  ['another scheme', explain(problem, 401, { 'www-authenticate': 'Basic' }), 'WWW-Authenticate'],
])('notices %s', (_fault, violation, expected) => {
  expect(violation).toContain(expected);
});
