import { existsSync, readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Migration } from 'kysely/migration';

/** The migrations that all kinds of databases share. */
const SHARED_FOLDER = join(import.meta.dirname, 'migrations');

/** `.js` in the npm package, `.ts` in the repository. */
const EXTENSION = extname(import.meta.filename);

/**
 * Returns the migrations of a kind of database, which report their begin.
 * @param missing those that will run
 */
export function reportMigrations(
  migrations: Record<string, Migration>,
  missing: readonly string[],
  onMigration: (name: string, left: number) => void,
): Record<string, Migration> {
  return Object.fromEntries(
    Object.entries(migrations).map(([name, { up }]) => [
      name,
      {
        up(db) {
          onMigration(name, missing.length - missing.indexOf(name) - 1);
          return up(db);
        },
      },
    ]),
  );
}

/** Returns the names of the migrations in a folder and of those that all kinds share, in the order of their numbers. */
export function migrationNames(folder: string): string[] {
  return filesOf(folder).map((file) => basename(file, EXTENSION));
}

/** Loads the migrations that `migrationNames` returns, by name. */
export async function loadMigrations(folder: string): Promise<Record<string, Migration>> {
  const migrations: Record<string, Migration> = {};
  for (const file of filesOf(folder)) {
    migrations[basename(file, EXTENSION)] = await import(pathToFileURL(file).href);
  }
  return migrations;
}

function filesOf(folder: string): string[] {
  return [folder, SHARED_FOLDER]
    .flatMap((each) => (existsSync(each) ? readdirSync(each).map((name) => join(each, name)) : []))
    .filter((file) => /^\d{4}-/.test(basename(file)) && file.endsWith(EXTENSION))
    .filter((file) => !file.endsWith('.d.ts'))
    .sort((a, b) => (basename(a) < basename(b) ? -1 : 1));
}
