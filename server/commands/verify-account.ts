import { verifyAccount } from '../account-lifecycle/verification.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: account } = readArguments('verify-account');

await runOnDatabase(async (engine) => {
  if (!(await verifyAccount(engine, account))) throw accountNotFound(account);
  console.log(`The account ${account} is verified.`);
});
