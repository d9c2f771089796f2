import { createHash, randomBytes } from 'node:crypto';

/**
 * Returns a secret of 256 random bits.
 * @param prefix allows people and secret scanners to recognise it
 */
export function createToken(prefix: string): string {
  return prefix + randomBytes(32).toString('base64url');
}

/** Returns the hex SHA-256 of a token. Only hashes are stored. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
