import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Returns the arguments of a program like `parseArgs`. If they are wrong, prints its usage and exits with 1. */
export function parseArguments<T extends ParseArgsConfig>(usage: string, config: T) {
  try {
    return parseArgs(config);
  } catch (error) {
    // Without the hint about positional arguments that begin with a hyphen.
    const [message] = (error as Error).message.split('. To specify', 1);
    console.error(`${message}\n\n${usage}`);
    process.exit(1);
  }
}
