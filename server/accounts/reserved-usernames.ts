import { DomainError } from '../errors.ts';
import { usernameKey, usernameSkeleton } from '../text/username-keys.ts';

/** Official roles. Also reserved as a word of a longer name, with digits or in the plural. */
export const ROLES = 'admin administrator moderator official staff support'.split(' ');

/** Further names that suggest an official role, or no particular user. */
export const RESERVED = [
  ...ROLES,
  ...'owner root security help system team anonymous deleted everyone me nobody'.split(' '),
  ...'spaceservice space-service space.service space_service'.split(' '),
  'space service',
];
const isReservedName = matcherOf(RESERVED);
const isRole = matcherOf(ROLES.flatMap((role) => [role, `${role}s`]));

const SEPARATORS = /[._\- ]+/;

/**
 * Whether a name is reserved or looks like a reserved one, even with signs before or after it; or contains an official
 * role as a word, or spelt with separators: `Admin team`, `admin1`, `a.d.m.i.n`. Accepts any text.
 */
export function isReserved(text: string): boolean {
  const words = text.split(SEPARATORS).filter((word) => word !== '');
  const name = text.replace(/^[._\- ]+|[._\- ]+$/g, '');
  return (
    isReservedName(name) ||
    isRole(words.join('')) ||
    words.some((word) => isRole(word.replace(/^\d+|\d+$/g, '')))
  );
}

/** Returns a function that returns whether a text is or resembles one of the names. */
function matcherOf(names: readonly string[]): (text: string) => boolean {
  const keys = new Set(names.map(usernameKey));
  // Also in upper case, because the skeleton of `ADMIN` differs from that of `admin`: I resembles l.
  const skeletons = new Set(
    names.flatMap((name) => [name, name.toUpperCase()]).map(usernameSkeleton),
  );
  return (text) => keys.has(usernameKey(text)) || skeletons.has(usernameSkeleton(text));
}

/** @throws DomainError `username_reserved` */
export function assertNotReserved(text: string): void {
  if (!isReserved(text)) return;
  throw new DomainError('username_reserved', 'That username is reserved. Choose another.', [
    { pointer: '/username', message: 'is reserved' },
  ]);
}
