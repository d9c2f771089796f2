import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { closedContract } from '../../verification/contract.ts';
import { type Exchange, STATUSES_FOLDER, validateExchange } from './contract.ts';
import { openapi } from './openapi.ts';

// These exchanges never happened, so they must not count as reached.
beforeAll(() => void vi.stubEnv(STATUSES_FOLDER, ''));
afterAll(() => void vi.unstubAllEnvs());

const { example: user } =
  openapi.paths['/api/users/{user_id}'].get.responses[200].content['application/json'];

const request_id = '3f0c9a52-7a35-4d1c-9b8e-0a2f6c1d4e77';

const problem = {
  type: 'about:blank',
  title: 'Not Found',
  status: 404,
  detail: 'The user does not exist.',
  code: 'user_not_found',
  request_id,
  errors: [],
};

function exchange(status: number, body: object, url = '/api/users/ada'): Exchange {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  return {
    method: 'GET',
    url: `http://127.0.0.1:3000${url}`,
    status,
    headers: new Headers({ 'content-type': type, 'x-request-id': request_id }),
    body: JSON.stringify(body),
  };
}

describe('validateExchange', () => {
  test('rejects a problem document with another id than the header', () => {
    const invalid = exchange(404, { ...problem, request_id: 'other' });
    expect(() => validateExchange(invalid)).toThrow('request_id differs from X-Request-Id');
  });

  test('accepts a response that the contract declares', () => {
    validateExchange(exchange(200, user));
    validateExchange(exchange(404, problem));
  });

  test.each<[string, Exchange]>([
    ['a response', exchange(200, { ...user, email: 'ada@example.com' })],
    ['a problem document', exchange(404, { ...problem, stack: 'Error' })],
    [
      'an entry of `errors`',
      exchange(404, { ...problem, errors: [{ pointer: '', message: '', value: 1 }] }),
    ],
    [
      'a problem document outside the contract',
      exchange(404, { ...problem, stack: 'Error' }, '/nowhere'),
    ],
  ])('rejects an undeclared field in %s', (_, invalid) => {
    expect(() => validateExchange(invalid)).toThrow('must NOT have additional properties');
  });

  test.each<[string, Exchange, string]>([
    [
      'that is not declared for the operation and status',
      exchange(404, { ...problem, code: 'space_not_found' }),
      'the code space_not_found is not declared',
    ],
    [
      'that the contract does not list',
      exchange(404, { ...problem, code: 'nothing_there' }, '/nowhere'),
      'the code nothing_there is not declared',
    ],
  ])('rejects a code %s', (_, invalid, message) => {
    expect(() => validateExchange(invalid)).toThrow(message);
  });
});

describe('validateExchange of a HEAD request', () => {
  const head = (path: string, type: string): Exchange => ({
    ...exchange(404, problem, path),
    method: 'HEAD',
    headers: new Headers({ 'content-type': type, 'x-request-id': request_id }),
    body: '',
  });

  test.each(['/api/users/ada', '/nowhere'])(
    'expects the type of GET, without a body: %s',
    (path) => {
      validateExchange(head(path, 'application/problem+json'));
      expect(() => validateExchange(head(path, 'text/html'))).toThrow('text/html');
    },
  );
});

describe('In the contract', () => {
  const isClosed = (schema: { additionalProperties?: unknown }) =>
    schema.additionalProperties === false;

  test('object schemas are closed in requests and open in responses', () => {
    for (const isRequest of [true, false]) {
      const schemas = objectSchemas(openapi, isRequest);
      expect(schemas.length).toBeGreaterThan(5);
      for (const schema of schemas) expect(isClosed(schema)).toBe(isRequest);
    }
  });

  test('all object schemas are closed in the copy for tests', () => {
    for (const isRequest of [true, false]) {
      const schemas = objectSchemas(closedContract(), isRequest);
      expect(schemas.filter((each) => !isClosed(each))).toEqual([]);
    }
  });
});

/** Returns the object schemas in all request bodies, or in all responses. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
function objectSchemas(contract: any, isRequest: boolean): any[] {
  const found = new Set<object>();
  // biome-ignore lint/suspicious/noExplicitAny: any part of an OpenAPI document
  const visit = (node: any): void => {
    if (typeof node !== 'object' || node === null || found.has(node)) return;
    if (typeof node.$ref === 'string') {
      const path: string[] = node.$ref.slice(2).split('/');
      // biome-ignore lint/suspicious/noExplicitAny: any part of an OpenAPI document
      visit(path.reduce((at: any, key) => at[key], contract));
      return;
    }
    if (node.type === 'object' && node.properties) found.add(node);
    for (const [key, child] of Object.entries(node)) {
      if (key !== 'example' && key !== 'examples') visit(child);
    }
  };
  for (const item of Object.values<Record<string, Record<string, unknown>>>(contract.paths)) {
    for (const { requestBody, responses } of Object.values(item)) {
      visit(isRequest ? requestBody : responses);
    }
  }
  return [...found];
}
