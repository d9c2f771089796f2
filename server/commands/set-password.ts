import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setPassword } from '../account-lifecycle/password-reset.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: account } = readArguments('set-password');

await runOnDatabase(async (engine) => {
  if (!(await setPassword(engine, account, await readPassword()))) throw accountNotFound(account);
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
