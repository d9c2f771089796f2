import { type CommandName, command } from './commands.ts';
import { helpOf, usageOf } from './help.ts';

/**
 * Flags of commands whose arguments are ids, which can begin with hyphens. An id that the import derives has 22 random
 * characters, so it practically never looks like a flag.
 */
const FLAG = /^--[a-z-]+(=.*)?$/s;

/** Flags of all other commands, including mistyped ones such as `-f`. A single hyphen stands for standard input. */
const POSSIBLE_FLAG = /^-./s;

interface Arguments {
  /** The first positional argument. Empty if it is omitted. */
  argument: string;
  positionals: string[];
  /** The names of the given flags. */
  flags: string[];
}

/**
 * Returns the arguments of a command. Prints its help and exits with 0 if they contain `--help`. Prints its usage and
 * exits with 1 if they are wrong.
 */
export function readArguments(name: CommandName): Arguments {
  const { positionals: usage, flags: knownFlags = {} } = command(name);
  const flagPattern = usage.includes('_ID') ? FLAG : POSSIBLE_FLAG;
  const { positionals, flags } = splitArguments(process.argv.slice(2), flagPattern);
  if (flags.some((flag) => flag !== 'help' && !Object.hasOwn(knownFlags, flag))) {
    exitWithUsage(name);
  }
  if (flags.includes('help')) {
    console.log(helpOf(name));
    process.exit();
  }
  const expected = usage.split(' ').filter(Boolean);
  const required = expected.filter((each) => !each.startsWith('[')).length;
  const maximum = usage.endsWith('…]') ? Infinity : expected.length;
  const given = positionals.length;
  if (positionals.includes('') || given < required || given > maximum) exitWithUsage(name);
  return { argument: positionals[0] ?? '', positionals, flags };
}

/**
 * Separates flags from positional arguments, such as ids, which can begin with one or two hyphens. After `--`, there
 * are no flags.
 */
function splitArguments(
  args: readonly string[],
  flagPattern: RegExp,
): { positionals: string[]; flags: string[] } {
  const separator = args.indexOf('--');
  const beforeSeparator = separator === -1 ? args : args.slice(0, separator);
  const afterSeparator = separator === -1 ? [] : args.slice(separator + 1);
  return {
    positionals: [...beforeSeparator.filter((each) => !flagPattern.test(each)), ...afterSeparator],
    flags: beforeSeparator
      .filter((each) => flagPattern.test(each))
      .map((each) => each.replace(/^--/, '')),
  };
}

/** Prints the usage of a command and exits with 1. */
export function exitWithUsage(name: CommandName): never {
  console.error(usageOf(name));
  process.exit(1);
}
