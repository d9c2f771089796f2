import { type CommandName, command } from './commands.ts';
import { commandLine, helpOf, usageOf } from './help.ts';
import { printable } from './printable.ts';

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
 * Returns the arguments of a command. Prints its help and exits with 0 if they contain `--help`. Prints the reason and
 * its usage, and exits with 1, if they are wrong.
 */
export function readArguments(name: CommandName): Arguments {
  const { positionals: usage, flags: knownFlags = {} } = command(name);
  const flagPattern = usage.includes('_ID') ? FLAG : POSSIBLE_FLAG;
  const { positionals, flags } = splitArguments(process.argv.slice(2), flagPattern);
  const unknown = flags.find((flag) => flag !== 'help' && !Object.hasOwn(knownFlags, flag));
  if (unknown !== undefined) {
    const option = unknown.startsWith('-') ? unknown : `--${unknown}`;
    exitWithUsage(name, `Unknown option ${printable(option)}.`);
  }
  if (flags.includes('help')) {
    console.log(helpOf(name));
    process.exit();
  }
  const expected = usage.split(' ').filter(Boolean);
  const required = expected.filter((each) => !each.startsWith('[')).length;
  const maximum = usage.endsWith('…]') ? Infinity : expected.length;
  const given = positionals.length;
  if (given > maximum) {
    exitWithUsage(name, `Unexpected argument ${printable(positionals[maximum] ?? '')}.`);
  }
  const nameOf = (index: number) =>
    (expected[index] ?? expected.at(-1) ?? '').replace(/[[\]…]/g, '').replace('|', ' or ');
  const empty = positionals.indexOf('');
  if (empty !== -1) exitWithUsage(name, `${nameOf(empty)} is empty.`);
  if (given < required) exitWithUsage(name, `${nameOf(given)} is missing.`);
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

/** Prints why the arguments are wrong, then the usage of the command, and exits with 1. */
export function exitWithUsage(name: CommandName, reason: string): never {
  console.error(reason);
  console.error(usageOf(name));
  if (name === 'start' || name === 'demo') {
    console.error(
      `It takes no arguments. Settings are environment variables: PORT=8080 ${commandLine(name)}`,
    );
  }
  process.exit(1);
}
