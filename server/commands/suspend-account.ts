import { suspendAccount } from '../account-lifecycle/suspension.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: account } = readArguments('suspend-account');

await runOnDatabase(async (engine) => {
  if (!(await suspendAccount(engine, account))) throw accountNotFound(account);
  console.log(
    `The account ${account} is suspended. Its sessions have ended, and its profile and spaces are hidden.`,
  );
});
