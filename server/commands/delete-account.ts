import { deleteSuspendedAccount } from '../account-lifecycle/deletion.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { removeDiscardedAvatarsNow } from '../command-line/avatar-removal.ts';
import { commandLine } from '../command-line/help.ts';
import { OperatorError } from '../errors.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: account } = readArguments('delete-account');

await runOnDatabase(async (engine, config) => {
  const outcome = await deleteSuspendedAccount(engine, account);
  if (outcome === 'unknown') throw accountNotFound(account);
  if (outcome === 'not suspended') {
    throw new OperatorError(
      `The account ${account} is not suspended. Suspend it first with: ${commandLine('suspend-account', account)}`,
    );
  }
  await removeDiscardedAvatarsNow(engine, config);
  console.log(`The account ${account} and everything in it have been deleted.`);
});
