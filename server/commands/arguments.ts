/**
 * Returns the only argument of a command. Prints the usage and exits unless there is exactly one, which is not an option.
 */
export function readOnlyArgument(usage: string): string {
  const [argument, ...rest] = process.argv.slice(2);
  if (argument === undefined || argument.startsWith('-') || rest.length > 0) exitWithUsage(usage);
  return argument;
}

export function exitWithUsage(usage: string): never {
  console.error(`Usage: ${usage}`);
  process.exit(1);
}

/** The message for an account that does not exist. */
export function noSuchAccount(account: string): string {
  return `There is no account with the email address or user id ${account}.`;
}
