import { restoreAccount } from '../account-lifecycle/suspension.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: account } = readArguments('restore-account');

await runOnDatabase(async (engine) => {
  if (!(await restoreAccount(engine, account))) throw accountNotFound(account);
  console.log(`The account ${account} is no longer suspended. Its profile and spaces are visible.`);
});
