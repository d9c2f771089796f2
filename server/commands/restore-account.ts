import { restoreAccount } from '../account-lifecycle/suspension.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';

const { argument: account } = readArguments('restore-account');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await restoreAccount(engine, account))) throw accountNotFound(account);
  console.log(`The account ${account} is no longer suspended. Its profile and spaces are visible.`);
});
