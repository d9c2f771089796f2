import { availableParallelism } from 'node:os';
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { isPossible } from '../accounts/password.ts';
import { limitConcurrency } from '../system/concurrency.ts';

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
 * threads, in which Argon2 works, one to avatars and files.
 */
export const HASHING_AT_ONCE = Math.max(1, Math.min(3, availableParallelism() - 1));
const hashing = limitConcurrency(HASHING_AT_ONCE, 64);

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
