import { randomBytes } from 'node:crypto';

/**
 * Minimum age at which an unused avatar is deleted. The operator may have just copied a younger one and import its user
 * soon. A copy can keep its old modification time, so docs/data.md says to copy the files after the import.
 */
export const MIN_UNUSED_AGE_MS = 60 * 60 * 1000;

/** Builds the URLs of avatars. */
export interface AvatarUrls {
  /** Absolute URL without a trailing slash, under which the store's files are served. */
  readonly baseUrl: string;
  /** Returns the URL of an avatar, or of the default avatar for null. */
  url(name: string | null): string;
}

/**
 * Stores rendered avatars under unguessable names whose content never changes. Callers create names with
 * `newAvatarName`, so that they can record a name before its file exists. `put` and `remove` throw a RangeError for any
 * other name.
 */
export interface AvatarStore extends AvatarUrls {
  readonly source: AvatarSource;
  /** Resolves once the avatar is durable, even after a power failure. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Resolves once the avatar is deleted. Does nothing if it does not exist. */
  remove(name: string): Promise<void>;
  /**
   * Scans the whole store slowly. Deletes temporary files of interrupted uploads, and unused avatars that are more than
   * an hour old.
   * @param findUsed returns those of the names that are in use or may soon be
   * @param signal stops the scan
   * @returns the number of deleted avatars
   */
  removeUnused(
    findUsed: (names: string[]) => Promise<Set<string>>,
    signal: AbortSignal,
  ): Promise<number>;
  /**
   * Whether the store caused the error: it is full, unreachable, or a bucket that cannot be used with these settings.
   */
  isUnavailable(error: unknown): boolean;
}

/** The source of the content of avatars: files in a folder, or a function that reads one avatar. */
export type AvatarSource =
  | { folder: string }
  | {
      /** Returns undefined if the avatar does not exist. Throws a RangeError for the name of the default avatar. */
      read(name: string): Promise<StoredAvatar | undefined>;
    };

export interface StoredAvatar {
  bytes: Buffer;
  modifiedAt: Date;
}

/** The avatar of users without one of their own. It ships with the server, and `isAvatarName` is false for it. */
export const DEFAULT_AVATAR_NAME = 'default.webp';

/** The file of the default avatar in the program, as a `file:` URL. */
export const DEFAULT_AVATAR_FILE = new URL(DEFAULT_AVATAR_NAME, import.meta.url);

/** The names that `newAvatarName` returns. */
export const AVATAR_NAME_PATTERN = /^[A-Za-z0-9_-]{22}\.webp$/;

/** Returns a new name: 128 random bits in base64url. */
export function newAvatarName(): string {
  return `${randomBytes(16).toString('base64url')}.webp`;
}

export function isAvatarName(name: string): boolean {
  return AVATAR_NAME_PATTERN.test(name);
}

/**
 * Rejects a name that is not from `newAvatarName`, such as a path out of the folder.
 * @throws RangeError
 */
export function assertAvatarName(name: string): void {
  if (!isAvatarName(name)) throw new RangeError(`Not the name of an avatar: ${name}`);
}

/** Returns the value of the Cache-Control header of an avatar. */
export function cacheControlOf(name: string): string {
  // One day or one year. Only the default avatar can change without a new URL, in a new version of the service.
  return name === DEFAULT_AVATAR_NAME
    ? 'public, max-age=86400'
    : 'public, max-age=31536000, immutable';
}

/** @param baseUrl absolute URL without a trailing slash, under which avatars are served */
export function avatarUrls(baseUrl: string): AvatarUrls {
  return { baseUrl, url: (name) => `${baseUrl}/${name ?? DEFAULT_AVATAR_NAME}` };
}
