import type { Migration } from 'kysely/migration';
import * as initial from './0001-initial.ts';
import * as names from './0002-names.ts';
import * as dictionary from './0003-dictionary.ts';
import * as wordIndex from './0004-word-index.ts';
import * as quotas from './0005-quotas.ts';
import * as moderation from './0006-moderation.ts';
import * as removals from './0007-removals.ts';
import * as usernameSkeletons from './0008-username-skeletons.ts';
import * as usernameKeys from './0009-username-keys.ts';

/** All migrations, in order. Never change an existing migration. */
export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
  '0002-names': names,
  '0003-dictionary': dictionary,
  '0004-word-index': wordIndex,
  '0005-quotas': quotas,
  '0006-moderation': moderation,
  '0007-removals': removals,
  '0008-username-skeletons': usernameSkeletons,
  '0009-username-keys': usernameKeys,
};
