import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emailKey, parseEmail } from '../../server/accounts/email.ts';
import { domainErrorOf } from './domain-error.ts';

const LONGEST_LABEL = 'x'.repeat(63);

function emailOfLength(bytes: number): string {
  const domain = `@${LONGEST_LABEL}.${LONGEST_LABEL}.${LONGEST_LABEL}.example`;
  return 'a'.repeat(bytes - domain.length) + domain;
}

/** Returns the error of an invalid email address. */
const errorOf = (text: string) => domainErrorOf(() => parseEmail(text));

describe('parseEmail', () => {
  test.each([
    'ada@example.com',
    'Ada.Lovelace+spaces@Example.COM',
    "!#$%&'*+/=?^_`{|}~-@example.com",
    'a..b.@localhost',
    '1@1',
    `a@${LONGEST_LABEL}.com`,
    'ada@xn--bcher-kva.example',
    emailOfLength(254),
  ])('accepts %s', (email) => {
    expect(parseEmail(email)).toEqual({ email, key: email.toLowerCase() });
  });

  test.each([
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@@example.com',
    'ada@example..com',
    'ada@.example.com',
    'ada@example.com.',
    'ada@-example.com',
    'ada@example-.com',
    `a@${LONGEST_LABEL}x.com`,
    ' ada@example.com',
    'ada@example.com\n',
    'ada lovelace@example.com',
    '"ada"@example.com',
    'ada@[127.0.0.1]',
    'ada\0@example.com',
    'adä@example.com',
    'ada@bücher.example',
    'ada@examp\u212Ae.com',
  ])('rejects %j', (text) => {
    expect(errorOf(text)).toMatchObject({
      code: 'email_invalid',
      message: expect.stringContaining('name@example.com'),
      pointers: [{ pointer: '/email', message: expect.stringMatching(/^must /) }],
    });
  });

  test('rejects more than 254 bytes', () => {
    expect(errorOf(emailOfLength(255))).toMatchObject({
      code: 'email_invalid',
      message: expect.stringContaining('254 bytes'),
    });
  });

  test('rejects a text or returns it unchanged', () => {
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), fc.string({ unit: 'binary' })), (text) => {
        if (errorOf(text) === undefined) expect(parseEmail(text).email).toBe(text);
      }),
    );
  });

  test('quickly rejects very long texts', { timeout: 5_000 }, () => {
    expect(errorOf(`a@${'a-'.repeat(1_000_000)}`)).toBeDefined();
    expect(errorOf('a'.repeat(2_000_000))).toBeDefined();
  });
});

describe('emailKey', () => {
  test('ignores only case', () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.emailAddress(), (one, other) => {
        expect(emailKey(one.toUpperCase())).toBe(emailKey(one));
        expect(emailKey(one) === emailKey(other)).toBe(one.toLowerCase() === other.toLowerCase());
      }),
    );
  });
});
