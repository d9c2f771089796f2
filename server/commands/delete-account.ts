import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { deleteSuspendedAccount } from '../profile/account-deletion.ts';
import { noSuchAccount, readOnlyArgument } from './arguments.ts';
import { deleteDiscardedFiles } from './avatar-files.ts';

const account = readOnlyArgument(
  'npm run delete-account -- ADDRESS|USER_ID   (the account must be suspended)',
);

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
