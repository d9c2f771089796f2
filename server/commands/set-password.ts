import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setPassword } from '../account-lifecycle/password-reset.ts';
import { findAccount } from '../accounts/account.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { OperatorError } from '../errors.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

/** Exit code of a shell for a command that SIGINT has ended. */
const INTERRUPTED = 130;

const { argument: account } = readArguments('set-password');

await runOnDatabase(async (engine) => {
  // Before it asks for a password.
  if ((await findAccount(engine.db, account)) === undefined) throw accountNotFound(account);
  const password = await readPassword();
  if (password === undefined) {
    process.exitCode = INTERRUPTED;
    return;
  }
  if (!(await setPassword(engine, account, password))) throw accountNotFound(account);
  console.log('The password has been changed, and all sessions of the account have ended.');
});

/**
 * Reads one line of standard input without showing it. On a terminal, asks for the password twice.
 * @returns undefined after Ctrl+C
 * @throws OperatorError if the passwords differ
 */
async function readPassword(): Promise<string | undefined> {
  const isTerminal = process.stdin.isTTY;
  const reader = createInterface({
    input: process.stdin,
    output: new Writable({ write: (_chunk, _encoding, done) => done() }),
    terminal: isTerminal,
  });
  // A terminal in raw mode sends Ctrl+C as a key.
  let isInterrupted = false;
  reader.once('SIGINT', () => {
    isInterrupted = true;
    reader.close();
  });
  const lines = reader[Symbol.asyncIterator]();
  const ask = async (prompt: string) => {
    if (isTerminal) process.stderr.write(prompt);
    const { value } = await lines.next();
    if (isTerminal) process.stderr.write('\n');
    // Empty input counts as an empty password, which is rejected as too short.
    return value ?? '';
  };
  const password = await ask('New password (not shown): ');
  const repeated = isTerminal && !isInterrupted ? await ask('Repeat the password: ') : password;
  reader.close();
  if (isInterrupted) return undefined;
  if (repeated !== password) {
    throw new OperatorError('The passwords differ. Nothing has been changed.');
  }
  return password;
}
