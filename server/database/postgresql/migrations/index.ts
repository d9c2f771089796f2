import { loadMigrations } from '../../migrations.ts';

/** All migrations by name, in the order in which they are applied. Never change an existing migration. */
export const migrations = await loadMigrations(import.meta.dirname);
