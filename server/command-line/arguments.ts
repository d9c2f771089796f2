import { parseArgs } from 'node:util';
import { type CommandName, command } from './commands.ts';
import { helpOf, usageOf } from './help.ts';

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
  const { positionals: usage, flags = {} } = command(name);
  const options = Object.fromEntries(
    ['help', ...Object.keys(flags)].map((flag) => [flag, { type: 'boolean' as const }]),
  );
  const { positionals, values } = parseKnownFlags(options) ?? exitWithUsage(name);
  if (values.help) {
    console.log(helpOf(name));
    process.exit();
  }
  const expected = usage.split(' ').filter(Boolean);
  const required = expected.filter((each) => !each.startsWith('[')).length;
  const maximum = usage.endsWith('…]') ? Infinity : expected.length;
  const given = positionals.length;
  if (positionals.includes('') || given < required || given > maximum) exitWithUsage(name);
  return { argument: positionals[0] ?? '', positionals, flags: Object.keys(values) };
}

/** Returns undefined if the arguments contain an unknown flag. */
function parseKnownFlags(options: Record<string, { type: 'boolean' }>) {
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch {
    return undefined;
  }
}

/** Prints the usage of a command and exits with 1. */
export function exitWithUsage(name: CommandName): never {
  console.error(usageOf(name));
  process.exit(1);
}
