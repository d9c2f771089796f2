import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setPassword } from '../account-lifecycle/password-reset.ts';
import { findAccount } from '../accounts/account.ts';
import type { Terminal } from '../command-line/command.ts';
import { onDatabase } from '../command-line/on-database.ts';
import { OperatorError } from '../errors.ts';
import { missingAccount } from './accounts.ts';

/** Exit code of a shell for a command that SIGINT has ended. */
const INTERRUPTED = 130;

export const changePassword = onDatabase(
  async (engine, { argument: account }, terminal, config) => {
    // Before it asks for a password.
    if ((await findAccount(engine.db, account)) === undefined) {
      throw new OperatorError(missingAccount(account));
    }
    const password = await readPassword(terminal);
    if (password === undefined) return INTERRUPTED;
    if (!(await setPassword({ engine, config }, account, password))) {
      throw new OperatorError(missingAccount(account));
    }
    terminal.console.log(
      'The password has been changed, and all sessions and access tokens of the account have ended.',
    );
    return undefined;
  },
);

/**
 * Reads one line of the input without showing it. On a terminal, asks for the password twice.
 * @returns undefined after Ctrl+C
 * @throws OperatorError if the passwords differ
 */
async function readPassword({ input, errors }: Terminal): Promise<string | undefined> {
  const isTerminal = input.isTTY === true;
  const reader = createInterface({
    input,
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
    if (isTerminal) errors.write(prompt);
    const { value } = await lines.next();
    if (isTerminal) errors.write('\n');
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
