import { userInfo } from 'node:os';
import { findUserId } from '../accounts/account.ts';
import { type Config, readConfig } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { databaseKind, isDataFolder, openDatabase } from '../database/open.ts';
import { OperatorError, withoutPassword } from '../errors.ts';
import { recordCommand } from '../system/operator-commands.ts';
import type { Command, ParsedArguments, Terminal } from './command.ts';

/**
 * Returns a command on the configured database, which runs also beside the service, and then prints which database this
 * is. If the database is missing, locked, full or damaged, it fails with one line.
 */
export function onDatabase(
  command: (
    engine: Engine,
    given: ParsedArguments,
    terminal: Terminal,
    config: Config,
  ) => ReturnType<Command>,
): Command {
  return withConfig(async (config, given, terminal) => {
    await using engine = await openDatabase(config, { purpose: 'command' });
    // Before the command, which can delete the account.
    for (const [index, each] of given.positionals.entries()) {
      const userId = each.includes('@') && (await findUserId(engine.db, each));
      if (userId) given.auditedArguments[index] = userId;
    }
    const exitCode = await command(engine, given, terminal, config);
    if (exitCode === undefined) terminal.console.error(describeTarget(config));
    return exitCode;
  });
}

/**
 * Returns a command that passes its argument to a function of a domain.
 * @param change  returns false if there is nothing with this id
 * @param missing returns the message for such an id
 * @param done    returns the message after the change
 */
export function onItem(
  change: (engine: Engine, id: string) => Promise<boolean>,
  missing: (id: string) => string,
  done: (id: string) => string,
): Command {
  return onDatabase(async (engine, { argument: id }, { console }) => {
    if (!(await change(engine, id))) throw new OperatorError(missing(id));
    console.log(done(id));
  });
}

/**
 * Returns a command that opens the configured database itself. Explains errors like `onDatabase`, and records the command
 * for the audit log.
 */
export function withConfig(
  command: (config: Config, given: ParsedArguments, terminal: Terminal) => ReturnType<Command>,
): Command {
  return async (given, terminal) => {
    const config = readConfig(terminal.environment);
    let exitCode: number | undefined;
    try {
      exitCode = (await command(config, given, terminal)) ?? undefined;
      await record(config, given, terminal, exitCode ?? 0);
    } catch (error) {
      await record(config, given, terminal, 1);
      throw (await databaseKind(config)).explainError(config, error);
    }
    return exitCode;
  };
}

/**
 * Records a command for the audit log of the service. Records nothing without a data folder, because no service has run
 * with it. A failure to record does not undo the command.
 */
async function record(
  { dataDir, databaseUrl }: Config,
  { name: command, auditedArguments, flags }: ParsedArguments,
  { environment, console }: Terminal,
  exitCode: number,
): Promise<void> {
  if (databaseUrl === null && !isDataFolder(dataDir)) return;
  const endedAt = new Date().toISOString();
  const operator = environment.SUDO_USER ?? userName();
  try {
    await recordCommand(dataDir, {
      endedAt,
      command,
      arguments: auditedArguments,
      flags,
      operator,
      exitCode,
    });
  } catch (error) {
    console.error(`The command will not be in the audit log. ${(error as Error).message}`);
  }
}

/** In containers, users often have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
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
