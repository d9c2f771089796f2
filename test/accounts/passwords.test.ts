import { readFileSync } from 'node:fs';
import { hash } from '@node-rs/argon2';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkNewPassword } from '../../server/accounts/password.ts';
import {
  countWaitingPasswords,
  hashPassword,
  isPasswordHash,
  MAX_CONCURRENT_HASHES,
  needsRehash,
  verifyPassword,
} from '../../server/auth/password-hashing.ts';
import { useRealHashingCost } from '../support/hashing-cost.ts';
import { domainErrorOf } from './domain-error.ts';

beforeAll(useRealHashingCost);

const ada = { username: 'Ada.Lovelace', email: 'Countess+1@Example.com' };
const PASSWORD = 'marmalade on toast';

/** Returns the error of an invalid new password. */
const errorOf = (password: string, account = ada) =>
  domainErrorOf(() => checkNewPassword(password, account, '/newPassword'));

describe('checkNewPassword', () => {
  test.each([
    PASSWORD,
    'aaaabbbb',
    'x'.repeat(256),
    '🐘'.repeat(8),
    '🐘'.repeat(256),
    ' \t\n\x01 \t\n\x01',
    'пароль не для всех',
    'password of mine',
    'my ada.lovelace',
    'example.com',
    'ada lovelace',
  ])('accepts %j', (text) => {
    expect(errorOf(text)).toBeUndefined();
  });

  test.each([
    ['an empty password', ''],
    ['7 characters', 'x7#kQ!z'],
    ['7 characters of two UTF-16 units', '🐘'.repeat(7)],
    ['7 characters, one of them with a combining mark', 'x7#kQ!e\u0301'],
    ['257 characters', 'x'.repeat(257)],
    ['257 characters of two UTF-16 units', '🐘'.repeat(257)],
    ['a NUL character, which no request can contain', 'marmalade \0'],
    ['an unpaired surrogate', 'marmalade \uD83D'],
    ['a surrogate pair in the wrong order', 'marmalade \uDE00\uD83D'],
  ])('rejects %s', (_, text) => {
    expect(errorOf(text)).toMatchObject({
      code: 'password_invalid',
      message: expect.stringContaining('8 to 256 characters'),
      pointers: [{ pointer: '/newPassword', message: 'must have 8 to 256 characters' }],
    });
  });

  test.each(['password', 'PassWord', 'ｐａｓｓｗｏｒｄ', 'qwertyuiop', '1234567890', 'iloveyou'])(
    'rejects the common password %s',
    (text) => {
      expect(errorOf(text)).toMatchObject({
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
  ])('rejects the user’s own username or email address: %s', (text) => {
    expect(errorOf(text)).toMatchObject({
      code: 'password_names_you',
      message: expect.stringContaining('username or email address'),
      pointers: [{ pointer: '/newPassword' }],
    });
  });

  test('accepts another user’s username', () => {
    expect(errorOf('Ada.Lovelace', { username: 'bob', email: 'bob@example.com' })).toBeUndefined();
  });

  test('quickly rejects a long text that is expensive to normalise', {
    timeout: 5_000,
  }, () => {
    expect(errorOf('a\u0316\u0301'.repeat(300_000))).toMatchObject({ code: 'password_invalid' });
  });

  test('throws only DomainErrors for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 6 }), fc.string(), (text, name) => {
        errorOf(text, { username: name, email: name });
      }),
    );
  });
});

describe('common-passwords.txt', () => {
  const file = new URL('../../server/accounts/common-passwords.txt', import.meta.url);
  const common = readFileSync(file, 'utf8').trimEnd().split('\n');

  test('contains 3,000 distinct passwords, each rejected as too common', () => {
    expect(new Set(common).size).toBe(3000);
    expect(common.filter((text) => errorOf(text)?.code !== 'password_too_common')).toEqual([]);
  });
});

describe('hashPassword', () => {
  test('uses Argon2id with 19 MiB, two passes and one lane, and a new salt each time', async () => {
    const [one, other] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(one).not.toBe(other);
  });

  test('runs a limited number of hashes concurrently and queues the others', async () => {
    const all = Array.from({ length: 10 }, () => hashPassword(PASSWORD));
    expect(countWaitingPasswords()).toBe(10 - MAX_CONCURRENT_HASHES);
    await Promise.all(all);
    expect(countWaitingPasswords()).toBe(0);
  });
});

describe('verifyPassword', () => {
  test('accepts only the hashed password', async () => {
    const stored = await hashPassword(PASSWORD);
    expect(await verifyPassword(stored, PASSWORD)).toBe(true);
    for (const wrong of ['', 'Marmalade on toast', `${PASSWORD} `, `${PASSWORD}\0`]) {
      expect(await verifyPassword(stored, wrong)).toBe(false);
    }
  });

  test('compares every character of a password of maximum length', async () => {
    const stored = await hashPassword('x'.repeat(256));
    expect(await verifyPassword(stored, 'x'.repeat(256))).toBe(true);
    expect(await verifyPassword(stored, `${'x'.repeat(255)}y`)).toBe(false);
    expect(await verifyPassword(stored, 'x'.repeat(257))).toBe(false);
  });

  test('accepts a password in another Unicode normalisation form', async () => {
    expect(
      await verifyPassword(await hashPassword('caf\u00E9 au lait'), 'cafe\u0301 au lait'),
    ).toBe(true);
    expect(
      await verifyPassword(await hashPassword('cafe\u0301 au lait'), 'caf\u00E9 au lait'),
    ).toBe(true);
  });

  test('rejects unpaired surrogates, which Argon2 would hash as the replacement character', async () => {
    const stored = await hashPassword('marmalade \uFFFD');
    expect(await verifyPassword(stored, 'marmalade \uFFFD')).toBe(true);
    expect(await verifyPassword(stored, 'marmalade \uD83D')).toBe(false);
    expect(await verifyPassword(await hashPassword(''), '\uD83D')).toBe(false);
  });

  test('throws for a malformed hash, without the hash in the message', async () => {
    const verified = verifyPassword('$argon2id$secret', PASSWORD);
    await expect(verified).rejects.toThrow(Error);
    await expect(verified).rejects.not.toThrow(/secret/);
  });

  test('rejects every password for an unknown user', async () => {
    expect(await verifyPassword(null, PASSWORD)).toBe(false);
    expect(await verifyPassword(null, '')).toBe(false);
  });
});

describe('isPasswordHash', () => {
  test.each([
    ['Argon2id', true, '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$'],
    ['Argon2i', true, '$argon2i$v=19$m=4096,t=3,p=1$c29tZXNhbHQ$'],
    ['Argon2id with 4 TiB of memory', false, '$argon2id$v=19$m=4294967295,t=2,p=1$c29tZXNhbHQ$'],
    ['Argon2id with four lanes', true, '$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$'],
    ['Argon2id with 4,000 passes', false, '$argon2id$v=19$m=19456,t=4000,p=1$c29tZXNhbHQ$'],
    [
      'Argon2id with the parameters of Django',
      true,
      '$argon2id$v=19$m=102400,t=2,p=8$c29tZXNhbHQ$',
    ],
    ['Argon2id with over 100 MiB', false, '$argon2id$v=19$m=102401,t=1,p=1$c29tZXNhbHQ$'],
    ['Argon2id with the parameters of PHP', true, '$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHQ$'],
    ['Argon2id with five passes on 64 MiB', false, '$argon2id$v=19$m=65536,t=5,p=1$c29tZXNhbHQ$'],
    ['Argon2id with 64 passes', true, '$argon2id$v=19$m=4096,t=64,p=16$c29tZXNhbHQ$'],
    ['Argon2id with 65 passes', false, '$argon2id$v=19$m=128,t=65,p=16$c29tZXNhbHQ$'],
    ['Argon2id with 64 lanes', false, '$argon2id$v=19$m=19456,t=2,p=64$c29tZXNhbHQ$'],
    ['Argon2id with too short a salt', false, '$argon2id$v=19$m=19456,t=2,p=1$AA$'],
    ['bcrypt of another length', false, '$2b$10$N9qo8uLOickgx2ZMRZoMye'],
    ['an empty string', false, ''],
  ])('of %s is %s', (_, expected, parameters) => {
    expect(isPasswordHash(parameters && `${parameters}${'A'.repeat(43)}`)).toBe(expected);
  });
});

describe('isPasswordHash', () => {
  test.each([
    ['$2a$10$', true],
    ['$2b$12$', true],
    ['$2y$04$', true],
    ['$2b$13$', false],
    ['$2b$03$', false],
    ['$2x$10$', false],
    ['$1$', false],
  ])('of a hash with %s is %s', (parameters, expected) => {
    expect(isPasswordHash(`${parameters}N9qo8uLOickgx2ZMRZoMye${'A'.repeat(31)}`)).toBe(expected);
  });
});

describe('The most expensive hashes that an import accepts', () => {
  test.each([
    ['m=102400,t=2,p=1', 'argon2id'],
    ['m=65536,t=4,p=16', 'argon2i'],
    ['m=4096,t=64,p=16', 'argon2d'],
  ])('take less than 16 times as long as own hashes: %s, %s', async (cost, algorithm) => {
    const stored = `$${algorithm}$v=19$${cost}$c29tZXNhbHQ$${'A'.repeat(43)}`;
    expect(isPasswordHash(stored)).toBe(true);
    // Processor time, compared with the service's own hashes, because the machine may be busy.
    const own = await hashPassword(PASSWORD);
    const fastest = { own: Number.POSITIVE_INFINITY, stored: Number.POSITIVE_INFINITY };
    const measure = async (kind: keyof typeof fastest, hashed: string) => {
      const before = process.cpuUsage();
      await verifyPassword(hashed, PASSWORD);
      const { user, system } = process.cpuUsage(before);
      fastest[kind] = Math.min(fastest[kind], user + system);
    };
    const isBelowLimit = () => fastest.stored / fastest.own < 16;
    // On a busy machine, the minimum of each kind needs several attempts to settle.
    for (let i = 0; i < 5 || (i < 30 && !isBelowLimit()); i += 1) {
      await measure('own', own);
      await measure('stored', stored);
    }
    expect(isBelowLimit(), JSON.stringify(fastest)).toBe(true);
  });
});

describe('needsRehash', () => {
  test('is true for a hash that is too expensive to verify at every login', () => {
    const parameters = '$argon2id$v=19$m=262144,t=4,p=1$c29tZXNhbHQ$';
    expect(needsRehash(parameters + 'A'.repeat(43))).toBe(true);
  });

  test('is true for a hash with weaker parameters or another algorithm', async () => {
    const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
    const hashWith = (changes: object) => hash(PASSWORD, { ...cost, ...changes });
    expect(needsRehash(await hashPassword(PASSWORD))).toBe(false);
    expect(needsRehash(await hashWith({ memoryCost: 19_455 }))).toBe(true);
    expect(needsRehash(await hashWith({ timeCost: 1 }))).toBe(true);
    expect(needsRehash(await hashWith({ algorithm: 1 }))).toBe(true);
    expect(needsRehash(await hashWith({ memoryCost: 20_000, timeCost: 3, parallelism: 2 }))).toBe(
      false,
    );
  });
});
