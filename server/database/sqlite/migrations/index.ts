import type { Migration } from 'kysely/migration';
import * as initial from './0001-initial.ts';
import * as names from './0002-names.ts';
import * as dictionary from './0003-dictionary.ts';
import * as wordIndex from './0004-word-index.ts';
import * as quotas from './0005-quotas.ts';

/** All migrations, in order. Never change an existing migration. */
export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
  '0002-names': names,
  '0003-dictionary': dictionary,
  '0004-word-index': wordIndex,
  '0005-quotas': quotas,
};
