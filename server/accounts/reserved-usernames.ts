import { DomainError } from '../errors.ts';
import { usernameKey, usernameSkeleton } from '../text/username-keys.ts';

/** Names that suggest an official role, or no particular user. */
const RESERVED = [
  ...'admin administrator moderator official owner root security staff'.split(' '),
  ...'help support system team anonymous deleted everyone me nobody'.split(' '),
  ...'spaceservice space-service space.service space_service'.split(' '),
  'space service',
];
const RESERVED_KEYS = new Set(RESERVED.map(usernameKey));
// Also in upper case, because the skeleton of `ADMIN` differs from that of `admin`: I resembles l.
const RESERVED_SKELETONS = new Set(
  RESERVED.flatMap((name) => [name, name.toUpperCase()]).map(usernameSkeleton),
);

/** Whether a name is reserved or looks like a reserved one, even with signs before or after it. Accepts any text. */
export function isReserved(text: string): boolean {
  const name = text.replace(/^[._\- ]+|[._\- ]+$/g, '');
  return RESERVED_KEYS.has(usernameKey(name)) || RESERVED_SKELETONS.has(usernameSkeleton(name));
}

/** @throws DomainError `username_reserved` */
export function assertNotReserved(text: string): void {
  if (!isReserved(text)) return;
  throw new DomainError('username_reserved', 'That username is reserved. Choose another.', [
    { pointer: '/username', message: 'is reserved' },
  ]);
}
