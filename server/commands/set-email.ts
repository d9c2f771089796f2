import { setEmail } from '../account-lifecycle/email-change.ts';
import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';

const [account = '', newEmail = ''] = readArguments('set-email').positionals;

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await setEmail(engine, account, newEmail))) throw accountNotFound(account);
  console.log(`The account has the email address ${newEmail}, which is not verified.`);
});
