import { suspendAccount } from '../account-lifecycle/suspension.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';

const { argument: account } = readArguments('suspend-account');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await suspendAccount(engine, account))) throw accountNotFound(account);
  console.log(
    `The account ${account} is suspended. Its sessions have ended, and its profile and spaces are hidden.`,
  );
});
