import { randomBytes } from 'node:crypto';

/**
 * Where rendered avatars are kept, under names that nobody can guess and that never change their content. Names
 * come from `newAvatarName`, so that one can be noted before its file exists; for others both throw a RangeError.
 */
export interface AvatarStore {
  /** Resolves once the avatar would survive a power cut. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Resolves once it is gone. Removing what is not there does nothing. */
  remove(name: string): Promise<void>;
  /** Whether the error says that the store cannot keep or give now (full, gone), rather than that it was asked wrongly. */
  isUnavailable(error: unknown): boolean;
}

/** What everyone without an avatar shows. It ships with the server and has no avatar's name. */
export const defaultAvatarName = 'default.webp';

/** 128 random bits in base64url. */
export function newAvatarName(): string {
  return `${randomBytes(16).toString('base64url')}.webp`;
}

export function isAvatarName(name: string): boolean {
  return /^[A-Za-z0-9_-]{22}\.webp$/.test(name);
}

/** Keeps every other path out of a store. @throws RangeError */
export function assertAvatarName(name: string): void {
  if (!isAvatarName(name)) throw new RangeError(`Not the name of an avatar: ${name}`);
}

/**
 * @param base absolute URL without a trailing slash under which the store's files are served
 * @param name null for the default avatar
 */
export function avatarUrl(base: string, name: string | null): string {
  return `${base}/${name ?? defaultAvatarName}`;
}
