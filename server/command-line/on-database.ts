import { type Config, readConfig } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { databaseKind, openDatabase } from '../database/open.ts';
import { OperatorError, withoutPassword } from '../errors.ts';
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

/** Returns a command that opens the configured database itself. Explains errors like `onDatabase`. */
export function withConfig(
  command: (config: Config, given: ParsedArguments, terminal: Terminal) => ReturnType<Command>,
): Command {
  return async (given, terminal) => {
    const config = readConfig(terminal.environment);
    try {
      return await command(config, given, terminal);
    } catch (error) {
      throw (await databaseKind(config)).explainError(config, error);
    }
  };
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
