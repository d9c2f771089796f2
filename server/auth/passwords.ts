import { readFileSync } from 'node:fs';
import { hash, verify } from '@node-rs/argon2';
import { limitConcurrency } from '../concurrency.ts';
import { Refusal } from '../refusal.ts';

/** Code points. */
const LENGTH = { least: 8, most: 256 };

/** Argon2id (algorithm 2) with the least cost that OWASP names for it: memory in KiB, passes, lanes. */
const COST = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/**
 * The 3,000 commonest of the passwords that are long enough, by their frequency in published leaks, commonest first.
 * From @zxcvbn-ts/language-common 4.1.3, MIT licence.
 */
const commonPasswords = new Set(
  readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8').trim().split('\n').map(foldPassword),
);

/** Hashing shares libuv's few threads with everything else that waits for them. */
const inTurn = limitConcurrency(4);

/**
 * Judges a new password.
 * @param pointer where in the request it stands
 * @throws Refusal `password_invalid`, `password_too_common`, `password_names_you`
 */
export function checkNewPassword(
  password: string,
  { username, email }: { username: string; email: string },
  pointer: string,
): void {
  const length = [...password.normalize('NFC')].length;
  if (!password.isWellFormed() || length < LENGTH.least || length > LENGTH.most) {
    throw new Refusal(
      'password_invalid',
      `A password has ${LENGTH.least} to ${LENGTH.most} characters of any kind.`,
      [{ pointer, message: `must have ${LENGTH.least} to ${LENGTH.most} characters` }],
    );
  }
  const folded = foldPassword(password);
  if ([username, email, email.split('@', 1)[0] ?? ''].map(foldPassword).includes(folded)) {
    throw new Refusal('password_names_you', 'A password is not your own username or address.', [
      { pointer, message: 'is your username or address' },
    ]);
  }
  if (commonPasswords.has(folded)) {
    throw new Refusal(
      'password_too_common',
      'This is one of the 3,000 commonest passwords, which are tried first. Choose another.',
      [{ pointer, message: 'is among the commonest passwords' }],
    );
  }
}

/** Answers with Argon2id in PHC form. */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password.normalize('NFC'), COST));
}

/** The hash of a password that nobody has. */
const dummyHash = hashPassword(crypto.randomUUID());

/**
 * Whether `password` is the one that was hashed. Without a hash it never is, which takes as long to find out.
 * @throws Error if the hash is not one
 */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  const known = passwordHash ?? (await dummyHash);
  // Half a surrogate pair would be hashed like any other: two different passwords could be the same.
  const isRight = await inTurn(() => verify(known, password.toWellFormed().normalize('NFC')));
  return isRight && passwordHash !== null && password.isWellFormed();
}

/** Whether a hash was made at a lower cost than today's. */
export function needsRehash(passwordHash: string): boolean {
  const cost = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$/.exec(passwordHash);
  if (!cost) return true;
  const [, memory, passes] = cost.map(Number) as [number, number, number];
  return memory < COST.memoryCost || passes < COST.timeCost;
}

function foldPassword(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
