import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { deleteSuspendedAccount } from '../profile/account-deletion.ts';
import { noSuchAccount } from './accounts.ts';
import { deleteDiscardedFiles } from './avatar-files.ts';

const { argument: account } = readArguments('delete-account');

await runProgram(async () => {
  const config = configFromEnvironment();
  await using engine = await openExistingDatabase(config);
  const outcome = await deleteSuspendedAccount(engine, account);
  if (outcome === 'unknown') throw new OperatorError(noSuchAccount(account));
  if (outcome === 'not suspended') {
    throw new OperatorError(
      `The account ${account} is not suspended. Suspend it first with: npm run suspend-account -- ${account}`,
    );
  }
  await deleteDiscardedFiles(engine, config);
  console.log(`The account ${account} and everything in it has been deleted.`);
});
