import { explainUnknownCommand } from './command-line/help.ts';
import { runCommand } from './command-line/run.ts';
import { entryOf, isCommand } from './commands/index.ts';

// Runs the command in the first argument, or starts the server. Workers of the server run it with the same arguments.
const [name = 'start', ...args] = process.argv.slice(2);
if (isCommand(name)) {
  // Only the owner can read the files that the program creates.
  process.umask(0o077);
  const terminal = {
    environment: process.env,
    // Most commands do not read standard input, and reading this property opens it.
    get input() {
      return process.stdin;
    },
    output: process.stdout,
    errors: process.stderr,
    console,
  };
  const exitCode = await runCommand(name, entryOf(name), args, terminal);
  // Open handles of a failed command, such as standard input or a port, would keep the process running.
  if (exitCode !== 0) process.exit(exitCode);
} else {
  console.error(explainUnknownCommand(name));
  process.exitCode = 1;
}
