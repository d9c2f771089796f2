import { type Config, configFromEnvironment } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { explainDatabaseError, openExistingDatabase } from '../database/open.ts';
import { withoutPassword } from '../errors.ts';
import { runProgram } from './program.ts';

/**
 * Runs a command on the configured database, also while the service runs, and then prints which database this is. If
 * the database is missing, locked, full or damaged, prints one line and exits with 1.
 */
export async function runOnDatabase(
  command: (engine: Engine, config: Config) => Promise<void>,
): Promise<void> {
  await runWithConfig(async (config) => {
    await using engine = await openExistingDatabase(config);
    await command(engine, config);
    const wasInterrupted = process.exitCode !== undefined;
    if (!wasInterrupted) console.error(describeTarget(config));
  });
}

/** Returns a line for the operator, because a forgotten DATABASE_URL or DATA_DIR can select an outdated database. */
export function describeTarget({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
  return databaseUrl === null
    ? `Database: DATA_DIR=${dataDir}`
    : `Database: DATABASE_URL=${withoutPassword(databaseUrl)}`;
}

/**
 * Runs a command that opens the configured database and prints `describeTarget` itself. Reports errors like
 * `runOnDatabase`.
 */
export async function runWithConfig(command: (config: Config) => Promise<void>): Promise<void> {
  await runProgram(async () => {
    const config = configFromEnvironment();
    try {
      await command(config);
    } catch (error) {
      throw await explainDatabaseError(config, error);
    }
  });
}
