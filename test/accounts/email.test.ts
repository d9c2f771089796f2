import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emailKey, parseEmail } from '../../server/accounts/email.ts';
import { DomainError } from '../../server/errors.ts';

const label = 'x'.repeat(63);

/** An address of so many bytes. */
function addressOf(bytes: number): string {
  const domain = `@${label}.${label}.${label}.example`;
  return 'a'.repeat(bytes - domain.length) + domain;
}

function refusalOf(text: string): DomainError | undefined {
  try {
    parseEmail(text);
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  return undefined;
}

describe('an e-mail address', () => {
  test.each([
    'ada@example.com',
    'Ada.Lovelace+spaces@Example.COM',
    "!#$%&'*+/=?^_`{|}~-@example.com",
    'a..b.@localhost',
    '1@1',
    `a@${label}.com`,
    'ada@xn--bcher-kva.example',
    addressOf(254),
  ])('may be %s', (email) => {
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
    `a@${label}x.com`,
    ' ada@example.com',
    'ada@example.com\n',
    'ada lovelace@example.com',
    '"ada"@example.com',
    'ada@[127.0.0.1]',
    'ada\0@example.com',
    'adä@example.com',
    'ada@bücher.example',
    'ada@examp\u212Ae.com',
  ])('is never %j', (text) => {
    expect(refusalOf(text)).toMatchObject({
      code: 'email_invalid',
      message: expect.stringContaining('name@example.com'),
      pointers: [{ pointer: '/email', message: expect.stringMatching(/^must /) }],
    });
  });

  test('has at most 254 bytes', () => {
    expect(refusalOf(addressOf(255))).toMatchObject({
      code: 'email_invalid',
      message: expect.stringContaining('254 bytes'),
    });
  });

  test('has the same key in capitals and in small letters, and no other', () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.emailAddress(), (one, other) => {
        expect(emailKey(one.toUpperCase())).toBe(emailKey(one));
        expect(emailKey(one) === emailKey(other)).toBe(one.toLowerCase() === other.toLowerCase());
      }),
    );
  });

  test('is never anything but accepted as it stands or refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), fc.string({ unit: 'binary' })), (text) => {
        if (refusalOf(text) === undefined) expect(parseEmail(text).email).toBe(text);
      }),
    );
  });

  test('is judged at once, however long', { timeout: 5_000 }, () => {
    expect(refusalOf(`a@${'a-'.repeat(1_000_000)}`)).toBeDefined();
    expect(refusalOf('a'.repeat(2_000_000))).toBeDefined();
  });
});
