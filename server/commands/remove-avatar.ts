import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { removeAvatarOf } from '../profile/avatar.ts';
import { noSuchAccount, readOnlyArgument } from './arguments.ts';
import { deleteDiscardedFiles } from './avatar-files.ts';

const account = readOnlyArgument('npm run remove-avatar -- ADDRESS|USER_ID');

await runProgram(async () => {
  const config = configFromEnvironment();
  await using engine = await openExistingDatabase(config);
  if (!(await removeAvatarOf(engine, account))) throw new OperatorError(noSuchAccount(account));
  await deleteDiscardedFiles(engine, config);
  console.log(`The account ${account} has the default avatar.`);
});
