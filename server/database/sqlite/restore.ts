import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { replaceFile, syncFolder } from '../../system/durable-files.ts';
import type { Engine } from '../engine.ts';
import { erasureJournal, readErasures, recordErasures } from '../erasure-journal.ts';
import { runCheck } from './check.ts';
import { removeDamageMark } from './damage.ts';
import { connect } from './dialect.ts';
import { openSqlite } from './engine.ts';
import { explainFailure, isDamage } from './errors.ts';
import { readAppliedMigrations, readMissingMigrations } from './migrate.ts';

/** The parts of a database in use. */
const SUFFIXES = ['', '-wal', '-shm'];

/**
 * Replaces a database that no process uses by a copy of a backup.
 * @param prepare called with the migrated copy, and the hashes of the ids of deleted accounts
 * @returns the folder with the replaced database; undefined if there was none
 * @throws OperatorError if the backup cannot be used. The database is unchanged then.
 */
export async function restoreFile(
  file: string,
  backup: string,
  prepare: (engine: Engine, erased: Set<string>) => Promise<void>,
): Promise<string | undefined> {
  const copy = `${file}-restored`;
  const removeCopy = async () => {
    removeDamageMark(copy);
    for (const suffix of SUFFIXES) await rm(copy + suffix, { force: true });
  };
  await removeCopy();
  try {
    if (existsSync(`${backup}-wal`)) {
      throw new OperatorError(
        `${backup}-wal exists, so a service uses ${backup}. Copy it with the command backup, and restore the copy.`,
      );
    }
    await replaceFile(copy, (path) => copyFile(backup, path), { temporaryFile: `${copy}.part` });
    await assertSound(copy, backup);
    const journal = erasureJournal({ dataDir: dirname(file) });
    if (existsSync(file)) await recordLastErasures(file, journal);
    await using engine = await openSqlite(copy, { purpose: 'import' });
    await prepare(engine, await readErasures(journal));
  } catch (error) {
    await removeCopy();
    throw explainFailure(error, backup);
  }
  const replaced = await moveAside(file);
  await rename(copy, file);
  await syncFolder(dirname(file));
  removeDamageMark(file);
  return replaced;
}

/** @throws OperatorError if a file is not a database of the service, or is damaged */
async function assertSound(copy: string, backup: string): Promise<void> {
  if (readAppliedMigrations(copy).length === 0) {
    throw new OperatorError(`${backup} is empty. It is not a backup of this service.`);
  }
  // Throws for a newer version.
  const isCurrent = readMissingMigrations(copy).length === 0;
  // The check knows only the newest schema. It replaces a damaged search index.
  const { data } = isCurrent ? await runCheck(copy, true) : { data: [] };
  const [defect] = data;
  if (defect) throw new OperatorError(`${backup} is damaged: ${defect.table}: ${defect.message}`);
}

/** Completes the journal, unless the database is damaged or from before the journal. */
async function recordLastErasures(file: string, journal: string): Promise<void> {
  const db = connect(file);
  try {
    if (readMissingMigrations(file).length === 0) await recordErasures(db, journal);
  } catch (error) {
    if (!isDamage(error)) throw error;
  } finally {
    await db.destroy();
  }
}

async function moveAside(file: string): Promise<string | undefined> {
  const parts = SUFFIXES.map((suffix) => file + suffix).filter((part) => existsSync(part));
  if (parts.length === 0) return undefined;
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const folder = join(dirname(file), `replaced-${time}`);
  await mkdir(folder);
  for (const part of parts) await rename(part, join(folder, basename(part)));
  return folder;
}
