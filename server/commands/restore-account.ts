import { restoreAccount } from '../account-lifecycle/suspension.ts';
import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';
import { accountNotFound } from './account-not-found.ts';

const { argument: account } = readArguments('restore-account');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await restoreAccount(engine, account))) throw accountNotFound(account);
  console.log(`The account ${account} is not suspended. Its profile and spaces are visible.`);
});
