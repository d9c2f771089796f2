import { readFileSync } from 'node:fs';
import { hash } from '@node-rs/argon2';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkNewPassword } from '../../server/accounts/password.ts';
import {
  hashPassword,
  isPasswordHash,
  MAX_CONCURRENT_HASHES,
  needsRehash,
  verifyPassword,
  waitingPasswords,
} from '../../server/auth/password-hashing.ts';
import { DomainError } from '../../server/errors.ts';

const ada = { username: 'Ada.Lovelace', email: 'Countess+1@Example.com' };
const password = 'marmalade on toast';

function refusalOf(password: string, account = ada): DomainError | undefined {
  try {
    checkNewPassword(password, account, '/newPassword');
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  return undefined;
}

describe('a new password', () => {
  test.each([
    password,
    'aaaabbbb',
    'x'.repeat(256),
    '🐘'.repeat(8),
    '🐘'.repeat(256),
    ' \t\n\0 \t\n\0',
    'пароль не для всех',
    'password of mine',
    'my ada.lovelace',
    'example.com',
    'ada lovelace',
  ])('may be %j', (text) => {
    expect(refusalOf(text)).toBeUndefined();
  });

  test.each([
    ['nothing', ''],
    ['7 letters', 'x7#kQ!z'],
    ['7 letters of two UTF-16 units', '🐘'.repeat(7)],
    ['7 letters, one of them with a mark', 'x7#kQ!e\u0301'],
    ['257 letters', 'x'.repeat(257)],
    ['257 letters of two UTF-16 units', '🐘'.repeat(257)],
    ['half a surrogate pair', 'marmalade \uD83D'],
    ['the halves of a surrogate pair the wrong way round', 'marmalade \uDE00\uD83D'],
  ])('has 8 to 256 well-formed characters, so that %s is refused', (_, text) => {
    expect(refusalOf(text)).toMatchObject({
      code: 'password_invalid',
      message: expect.stringContaining('8 to 256 characters'),
      pointers: [{ pointer: '/newPassword', message: 'must have 8 to 256 characters' }],
    });
  });

  test.each(['password', 'PassWord', 'ｐａｓｓｗｏｒｄ', 'qwertyuiop', '1234567890', 'iloveyou'])(
    'is refused for being as common as %s',
    (text) => {
      expect(refusalOf(text)).toMatchObject({
        code: 'password_too_common',
        message: expect.stringContaining('3,000'),
        pointers: [{ pointer: '/newPassword' }],
      });
    },
  );

  test.each([
    'Ada.Lovelace',
    'ADA.LOVELACE',
    'ａｄａ.lovelace',
    'countess+1@example.com',
    'COUNTESS+1',
  ])('is refused for naming its owner: %s', (text) => {
    expect(refusalOf(text)).toMatchObject({
      code: 'password_names_you',
      message: expect.stringContaining('username or email address'),
      pointers: [{ pointer: '/newPassword' }],
    });
  });

  test('may name somebody else', () => {
    expect(
      refusalOf('Ada.Lovelace', { username: 'bob', email: 'bob@example.com' }),
    ).toBeUndefined();
  });

  test('is judged at once, however long and hard to normalise', { timeout: 5_000 }, () => {
    expect(refusalOf('a\u0316\u0301'.repeat(300_000))).toMatchObject({ code: 'password_invalid' });
  });

  test('is never anything but accepted or refused', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 6 }), fc.string(), (text, name) => {
        refusalOf(text, { username: name, email: name });
      }),
    );
  });
});

describe('the list of common passwords', () => {
  const file = new URL('../../server/accounts/common-passwords.txt', import.meta.url);
  const common = readFileSync(file, 'utf8').trimEnd().split('\n');

  test('has 3,000 different ones, each refused for being common and for nothing else', () => {
    expect(new Set(common).size).toBe(3000);
    expect(common.filter((text) => refusalOf(text)?.code !== 'password_too_common')).toEqual([]);
  });
});

describe('a password hash', () => {
  test('is Argon2id at 19 MiB, two passes and one lane, and another each time', async () => {
    const [one, other] = await Promise.all([hashPassword(password), hashPassword(password)]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(one).not.toBe(other);
  });

  test('is that of its password and of no other', async () => {
    const stored = await hashPassword(password);
    expect(await verifyPassword(stored, password)).toBe(true);
    for (const wrong of ['', 'Marmalade on toast', `${password} `, `${password}\0`]) {
      expect(await verifyPassword(stored, wrong)).toBe(false);
    }
  });

  test('takes every character of the longest password into account', async () => {
    const stored = await hashPassword('x'.repeat(256));
    expect(await verifyPassword(stored, 'x'.repeat(256))).toBe(true);
    expect(await verifyPassword(stored, `${'x'.repeat(255)}y`)).toBe(false);
    expect(await verifyPassword(stored, 'x'.repeat(257))).toBe(false);
  });

  test('is the same for both ways to type an accent', async () => {
    expect(
      await verifyPassword(await hashPassword('caf\u00E9 au lait'), 'cafe\u0301 au lait'),
    ).toBe(true);
    expect(
      await verifyPassword(await hashPassword('cafe\u0301 au lait'), 'caf\u00E9 au lait'),
    ).toBe(true);
  });

  test('is not that of half a surrogate pair, which would be hashed as the replacement character', async () => {
    const stored = await hashPassword('marmalade \uFFFD');
    expect(await verifyPassword(stored, 'marmalade \uFFFD')).toBe(true);
    expect(await verifyPassword(stored, 'marmalade \uD83D')).toBe(false);
    expect(await verifyPassword(await hashPassword(''), '\uD83D')).toBe(false);
  });

  test('that is none fails to verify, and not with what it holds', async () => {
    const verified = verifyPassword('$argon2id$secret', password);
    await expect(verified).rejects.toThrow(Error);
    await expect(verified).rejects.not.toThrow(/secret/);
  });

  test.each([
    ['Argon2id', '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$', true],
    ['Argon2i', '$argon2i$v=19$m=4096,t=3,p=1$c29tZXNhbHQ$', true],
    ['Argon2id with 4 TiB of memory', '$argon2id$v=19$m=4294967295,t=2,p=1$c29tZXNhbHQ$', false],
    ['Argon2id with four lanes', '$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$', true],
    ['Argon2id with 4,000 passes', '$argon2id$v=19$m=19456,t=4000,p=1$c29tZXNhbHQ$', false],
    ['Argon2id with 64 lanes', '$argon2id$v=19$m=19456,t=2,p=64$c29tZXNhbHQ$', false],
    ['Argon2id with too short a salt', '$argon2id$v=19$m=19456,t=2,p=1$AA$', false],
    ['bcrypt', '$2b$10$N9qo8uLOickgx2ZMRZoMye', false],
    ['nothing', '', false],
  ])('may come from elsewhere: %s', (_, parameters, expected) => {
    expect(isPasswordHash(parameters && `${parameters}${'A'.repeat(43)}`)).toBe(expected);
  });

  test('is made again once costs have risen', async () => {
    const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
    const at = (changes: object) => hash(password, { ...cost, ...changes });
    expect(needsRehash(await hashPassword(password))).toBe(false);
    expect(needsRehash(await at({ memoryCost: 19_455 }))).toBe(true);
    expect(needsRehash(await at({ timeCost: 1 }))).toBe(true);
    expect(needsRehash(await at({ algorithm: 1 }))).toBe(true);
    expect(needsRehash(await at({ memoryCost: 20_000, timeCost: 3, parallelism: 2 }))).toBe(false);
  });
});

describe('an account that does not exist', () => {
  test('has no right password', async () => {
    expect(await verifyPassword(null, password)).toBe(false);
    expect(await verifyPassword(null, '')).toBe(false);
  });
});

test('passwords are hashed a few at a time, the others wait', async () => {
  const all = Array.from({ length: 10 }, () => hashPassword(password));
  expect(waitingPasswords()).toBe(10 - MAX_CONCURRENT_HASHES);
  await Promise.all(all);
  expect(waitingPasswords()).toBe(0);
});
