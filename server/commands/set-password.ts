import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setPassword } from '../account-lifecycle/password-reset.ts';
import { readArguments } from '../command-line/arguments.ts';
import { OperatorError } from '../errors.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: email } = readArguments('set-password');

await runOnDatabase(async (engine) => {
  if (!(await setPassword(engine, email, await readPassword()))) {
    throw new OperatorError(`There is no account with the email address ${email}.`);
  }
  console.log('The password has been changed, and all sessions of the account have ended.');
});

/** Reads one line of standard input without showing it. */
async function readPassword(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('New password (not shown): ');
  const reader = createInterface({
    input: process.stdin,
    output: new Writable({ write: (_chunk, _encoding, done) => done() }),
    terminal: process.stdin.isTTY,
  });
  // Empty input counts as an empty password, which is rejected as too short.
  const line = await new Promise<string>((resolve) => {
    reader.once('line', resolve).once('close', () => resolve(''));
  });
  reader.close();
  if (process.stdin.isTTY) process.stderr.write('\n');
  return line;
}
