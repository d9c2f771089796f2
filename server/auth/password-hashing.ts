import { availableParallelism } from 'node:os';
import { hash, parseOptions, verify as verifyArgon2 } from '@node-rs/argon2';
import { verify as verifyBcrypt } from '@node-rs/bcrypt';
import { normalizePassword } from '../accounts/password.ts';
import { limitConcurrency } from '../system/concurrency.ts';

/**
 * Argon2id parameters of OWASP's Password Storage Cheat Sheet: 19 MiB, 2 passes, 1 lane. Most tests reduce them, so
 * that thousands of registrations and logins take seconds.
 */
export const HASHING_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

// The limits of imported hashes. Verifying a hash at a limit takes about ten times as long as one with HASHING_COST:
// 0.1 s on a quiet machine. The usual parameters of Django, PHP, Spring, passlib and RFC 9106 (64 MiB) are below the
// limits.
const MAX_MEMORY_KIB = 102_400;
/** Maximum product of memory and passes, which determines the time. */
const MAX_WORK_KIB = 262_144;
/** Many passes over little memory take longer than their product suggests. */
const MAX_PASSES = 64;
const MAX_LANES = 16;

/**
 * bcrypt with a cost of at most 12, which takes 25 times as long as HASHING_COST: 0.24 s on a quiet machine. The default
 * of Rails and Django is 12, and that of most others 10. Only imported hashes have this form.
 */
const BCRYPT_PATTERN = /^\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/;

/** The hashes that `isPasswordHash` accepts, for error messages. */
export const PASSWORD_HASH_RULE =
  'an Argon2 hash in PHC form with at most 102,400 KiB of memory, 64 passes, 262,144 KiB for memory times passes, and 16 lanes, or a bcrypt hash with a cost of at most 12';

/** Returns a hash to verify in place of a missing one, so that a login takes the same time. No password matches it. */
function dummyHash(): string {
  const { memoryCost, timeCost, parallelism } = HASHING_COST;
  const parameters = `m=${memoryCost},t=${timeCost},p=${parallelism}`;
  return `$argon2id$v=19$${parameters}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
}

/**
 * Argon2 and bcrypt run on libuv's four threads. The limit leaves one of them to avatars and files, and one core to other
 * requests.
 */
export const MAX_CONCURRENT_HASHES = Math.max(1, Math.min(3, availableParallelism() - 1));
const MAX_WAITING_HASHES = 64;
const limitHashing = limitConcurrency({
  limit: MAX_CONCURRENT_HASHES,
  maxWaiting: MAX_WAITING_HASHES,
});

/** Returns the number of passwords waiting to be hashed or verified. */
export const countWaitingPasswords = limitHashing.countWaiting;

/**
 * Returns the hash, in PHC form, of a password that `checkNewPassword` accepts.
 * @throws RangeError if it is too long or malformed
 */
export async function hashPassword(password: string): Promise<string> {
  const normalized = normalizePassword(password);
  if (normalized === undefined) throw new RangeError('The password is too long or malformed.');
  return limitHashing(() => hash(normalized, HASHING_COST));
}

/**
 * Whether a password matches a hash. If `stored` is null, returns false after the same time. bcrypt compares only the
 * first 72 bytes of a password, like the service from which the hash was imported.
 * @throws Error if the stored hash is malformed
 */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const normalized = normalizePassword(password);
  const isMatch = await limitHashing(() => verify(normalized ?? '', stored ?? dummyHash()));
  return isMatch && normalized !== undefined && stored !== null;
}

function verify(password: string, stored: string): Promise<boolean> {
  return BCRYPT_PATTERN.test(stored)
    ? verifyBcrypt(password, stored)
    : verifyArgon2(stored, password);
}

/**
 * Whether a hash should be replaced at the next login: it is a bcrypt hash, has weaker parameters than new hashes, or was
 * imported by an older version and is too expensive to verify.
 */
export function needsRehash(stored: string): boolean {
  if (BCRYPT_PATTERN.test(stored)) return true;
  const { memoryCost, timeCost, parallelism } = parseOptions(stored);
  return (
    !isPasswordHash(stored) ||
    !stored.startsWith('$argon2id$v=19$') ||
    memoryCost < HASHING_COST.memoryCost ||
    timeCost < HASHING_COST.timeCost ||
    parallelism < HASHING_COST.parallelism
  );
}

/** Whether a text is a bcrypt hash, or an Argon2 hash in PHC form, that is not too expensive to verify. */
export function isPasswordHash(text: string): boolean {
  if (BCRYPT_PATTERN.test(text)) return true;
  try {
    const { memoryCost, timeCost, parallelism } = parseOptions(text);
    return (
      memoryCost <= MAX_MEMORY_KIB &&
      timeCost <= MAX_PASSES &&
      memoryCost * timeCost <= MAX_WORK_KIB &&
      parallelism <= MAX_LANES
    );
  } catch {
    return false;
  }
}
