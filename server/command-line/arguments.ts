import { OperatorError } from '../errors.ts';
import type { CommandEntry, ParsedArguments } from './command.ts';
import { printable } from './printable.ts';

/**
 * Flags of commands whose arguments are ids, which can begin with hyphens. An id that the import derives has 22 random
 * characters, so it practically never looks like a flag.
 */
const FLAG = /^--[a-z-]+(=.*)?$/s;

/** Flags of all other commands, including mistyped ones such as `-f`. A single hyphen stands for standard input. */
const POSSIBLE_FLAG = /^-./s;

/** Replaces email addresses in the audit log. */
export const NOT_AUDITED = '(email address)';

/** Wrong arguments of a command. */
export class UsageError extends OperatorError {}

/** @throws UsageError unless the flags include `help` */
export function parseArguments(
  name: string,
  { positionals: usage, flags: knownFlags = {} }: CommandEntry,
  args: readonly string[],
): ParsedArguments {
  const flagPattern = usage.includes('_ID') ? FLAG : POSSIBLE_FLAG;
  const { positionals, flags } = splitArguments(args, flagPattern);
  const unknown = flags.find((flag) => flag !== 'help' && !Object.hasOwn(knownFlags, flag));
  if (unknown !== undefined) {
    const option = unknown.startsWith('-') ? unknown : `--${unknown}`;
    throw new UsageError(`Unknown option ${printable(option)}.`);
  }
  const auditedArguments = positionals.map((each) => (each.includes('@') ? NOT_AUDITED : each));
  const parsed = { name, argument: positionals[0] ?? '', positionals, auditedArguments, flags };
  if (flags.includes('help')) return parsed;
  const expected = usage.split(' ').filter(Boolean);
  const required = expected.filter((each) => !each.startsWith('[')).length;
  const maximum = usage.endsWith('…]') ? Infinity : expected.length;
  const given = positionals.length;
  if (given > maximum) {
    throw new UsageError(`Unexpected argument ${printable(positionals[maximum] ?? '')}.`);
  }
  const nameOf = (index: number) =>
    (expected[index] ?? expected.at(-1) ?? '').replace(/[[\]…]/g, '').replace('|', ' or ');
  const empty = positionals.indexOf('');
  if (empty !== -1) throw new UsageError(`${nameOf(empty)} is empty.`);
  if (given < required) throw new UsageError(`${nameOf(given)} is missing.`);
  return parsed;
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
