import { expect, test } from 'vitest';
import { compileValidator } from '../../server/http/validation.ts';

const compile = (pattern: string) => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern } } };
  return compileValidator({ schema, method: 'POST', url: '/', httpPart: 'body' });
};

test('compiles a pattern with a message', () => {
  const validate = compile('^[A-Za-z0-9_-]+$');
  expect(validate({ a: 'b' })).toBe(true);
  expect(validate({ a: 'b c' })).toMatchObject({ error: [{ keyword: 'pattern' }] });
});

test('rejects a pattern without a message', () => {
  expect(() => compile('^[a-z]$')).toThrow(
    'Add a message for the pattern ^[a-z]$ to server/http/validation.ts.',
  );
});
