import { createHash } from 'node:crypto';

/** Returns a hash of a key, so that the counters contain neither addresses nor ids of deleted accounts. */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}
