import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { declaredResponses } from '../../verification/declared-responses.ts';

const schemaOf = (id: string) => declaredResponses.find((each) => each.id === id)?.schema ?? false;

test('the schema of a response rejects undeclared fields', () => {
  const validate = new Ajv({ strict: false }).compile(schemaOf('logout 200'));
  expect(validate({ message: 'You are signed out.' })).toBe(true);
  expect(validate({ message: 'You are signed out.', session_id: 1 })).toBe(false);
});

test('the schema of an error rejects the codes of other operations', () => {
  const ajv = new Ajv({ strict: false, formats: { uri: true } });
  const validate = ajv.compile(schemaOf('getUser 404'));
  const problem = {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'The user does not exist.',
    request_id: '3f0c9a52-7a35-4d1c-9b8e-0a2f6c1d4e77',
    errors: [],
  };
  expect(validate({ ...problem, code: 'user_not_found' })).toBe(true);
  expect(validate({ ...problem, code: 'space_not_found' })).toBe(false);
});

test('an error has the code of its example, and other responses have none', () => {
  const codeOf = (id: string) => declaredResponses.find((each) => each.id === id)?.code;
  expect(codeOf('register 409')).toBe('username_taken');
  expect(codeOf('register 409 (email_taken)')).toBe('email_taken');
  expect(codeOf('register 201')).toBeUndefined();
});

const errors = declaredResponses.filter(({ status }) => Number(status) >= 400);
test.each(errors)('the contract lists the code of $id', ({ operation, status, code }) => {
  expect(operation.responses[status]?.['x-problem-codes']).toContain(code);
});
