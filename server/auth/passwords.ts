import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { limitConcurrency } from '../concurrency.ts';
import { Refusal, type RefusalCode } from '../refusal.ts';

/** In code points: the shortest in NFC, the longest as sent. */
const MIN_LENGTH = 8;
const MAX_LENGTH = 256;

/** Argon2id, as OWASP's Password Storage Cheat Sheet has it: 19 MiB, 2 passes, 1 lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** In KiB. What a hash from elsewhere may ask for: more could bring the process down. */
const MAX_MEMORY_COST = 262_144;
/** In KiB that all its passes fill. More would keep others from signing in for longer than a second or two. */
const MAX_COST = 1_048_576;
const MAX_LANES = 16;

/** In the form of a hash, at the cost of a hash, and the hash of nothing. */
const NOBODYS_HASH = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/**
 * How many passwords are hashed at a time. One core is left to those who read, whatever comes; and of libuv's four
 * threads, in which Argon2 works, one to pictures and files.
 */
export const HASHING_AT_ONCE = Math.max(1, Math.min(3, availableParallelism() - 1));
const hashing = limitConcurrency(HASHING_AT_ONCE, 64);

/**
 * The 3,000 commonest passwords of 8 characters or more, commonest first, folded. From
 * @zxcvbn-ts/language-common 4.1.3 (MIT, see common-passwords.LICENSE.txt).
 */
const COMMON = new Set(
  readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n'),
);

/**
 * Refuses a password that nobody should have, or that this account should not have.
 * @param pointer where in the request the password is
 * @throws Refusal `password_invalid`, `password_too_common`, `password_names_you`
 */
export function checkNewPassword(
  password: string,
  { username, email }: { username: string; email: string },
  pointer: string,
): void {
  const refuse = (code: RefusalCode, detail: string, message: string) =>
    new Refusal(code, detail, [{ pointer, message }]);

  if (!isPossible(password) || length(password.normalize('NFC')) < MIN_LENGTH) {
    throw refuse(
      'password_invalid',
      `A password has ${MIN_LENGTH} to ${MAX_LENGTH} characters of any kind, in well-formed Unicode.`,
      `must have ${MIN_LENGTH} to ${MAX_LENGTH} characters`,
    );
  }
  const folded = fold(password);
  if (COMMON.has(folded)) {
    throw refuse(
      'password_too_common',
      'That is one of the 3,000 commonest passwords, however it is capitalised. Choose one that is harder to guess.',
      'is one of the commonest passwords',
    );
  }
  const [localPart = ''] = email.split('@');
  if ([username, email, localPart].map(fold).includes(folded)) {
    throw refuse(
      'password_names_you',
      'The password is your username or e-mail address, or the part of it before the @. Choose another.',
      'must not be your username or address',
    );
  }
}

/** Hashes a password that `checkNewPassword` let pass. Answers with the hash in PHC form. */
export function hashPassword(password: string): Promise<string> {
  return hashing(() => hash(password.normalize('NFC'), COST));
}

/**
 * Whether a password is the one that was hashed. Where there is no hash it takes as long, and is false.
 * @throws Error for a stored hash that is none: that is a fault of the data, not of who signs in
 */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const possible = isPossible(password);
  const candidate = possible ? password.normalize('NFC') : '';
  const isRight = await hashing(() => verify(stored ?? NOBODYS_HASH, candidate));
  return isRight && possible && stored !== null;
}

/** Whether a hash, verified before, was made at a lower cost than today's. */
export function needsRehash(stored: string): boolean {
  const { memoryCost, timeCost, parallelism } = parseOptions(stored);
  return (
    !stored.startsWith('$argon2id$v=19$') ||
    memoryCost < COST.memoryCost ||
    timeCost < COST.timeCost ||
    parallelism < COST.parallelism
  );
}

/** Whether a text from elsewhere can be stored as a hash: Argon2 in PHC form, at a cost that can be borne. */
export function isPasswordHash(text: string): boolean {
  try {
    const { memoryCost, timeCost, parallelism } = parseOptions(text);
    return (
      memoryCost <= MAX_MEMORY_COST && memoryCost * timeCost <= MAX_COST && parallelism <= MAX_LANES
    );
  } catch {
    return false;
  }
}

/** How many passwords wait to be hashed or verified. */
export const waitingPasswords = hashing.waiting;

/** Whether it can be anyone's password. Asked before NFC, which takes quadratic time on rows of marks. */
function isPossible(password: string): boolean {
  return length(password) <= MAX_LENGTH && password.isWellFormed();
}

function length(text: string): number {
  return Array.from(text).length;
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
