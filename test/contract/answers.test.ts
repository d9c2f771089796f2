import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { answers } from './answers.ts';

test('the schema of an answer rejects undeclared fields', () => {
  const answer = answers.find(({ id }) => id === 'logout 200');
  const validate = new Ajv({ strict: false }).compile(answer?.schema ?? false);
  expect(validate({ message: 'You are signed out.' })).toBe(true);
  expect(validate({ message: 'You are signed out.', session_id: 1 })).toBe(false);
});
