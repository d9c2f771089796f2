import type { Migration } from 'kysely/migration';
import * as initial from './0001-initial.ts';
import * as longerPrefixes from './0002-longer-prefixes.ts';
import * as firstTagId from './0003-first-tag-id.ts';
import * as usernameKeys from './0004-username-keys.ts';

/** All migrations by name, in the order in which they are applied. Never change an existing migration. */
export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
  '0002-longer-prefixes': longerPrefixes,
  '0003-first-tag-id': firstTagId,
  '0004-username-keys': usernameKeys,
};
