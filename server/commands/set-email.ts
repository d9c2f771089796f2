import { setEmail } from '../account-lifecycle/email-change.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const [account = '', newEmail = ''] = readArguments('set-email').positionals;

await runOnDatabase(async (engine) => {
  if (!(await setEmail(engine, account, newEmail))) throw accountNotFound(account);
  console.log(`The account has the email address ${newEmail}, which is not verified.`);
});
