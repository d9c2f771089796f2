import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { restoreAccount } from '../profile/account-suspension.ts';
import { noSuchAccount } from './accounts.ts';

const { argument: account } = readArguments('restore-account');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await restoreAccount(engine, account))) throw new OperatorError(noSuchAccount(account));
  console.log(`The account ${account} is not suspended. Its profile and spaces are visible.`);
});
