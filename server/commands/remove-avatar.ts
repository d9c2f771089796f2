import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { removeAvatarOf } from '../profile/avatar.ts';
import { noSuchAccount } from './accounts.ts';
import { deleteDiscardedFiles } from './avatar-files.ts';

const { argument: account } = readArguments('remove-avatar');

await runProgram(async () => {
  const config = configFromEnvironment();
  await using engine = await openExistingDatabase(config);
  if (!(await removeAvatarOf(engine, account))) throw new OperatorError(noSuchAccount(account));
  await deleteDiscardedFiles(engine, config);
  console.log(`The account ${account} has the default avatar.`);
});
