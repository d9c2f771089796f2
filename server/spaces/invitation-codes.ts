import { randomBytes } from 'node:crypto';
import type { Visibility } from '../../generated/types.gen.ts';

/** Returns a new code for a private space, and null for a public one. */
export function invitationCodeFor(visibility: Visibility): string | null {
  return visibility === 'private' ? newInvitationCode() : null;
}

/** Returns 128 random bits in base64url. */
export function newInvitationCode(): string {
  return randomBytes(16).toString('base64url');
}
