import { setEmail } from '../account-lifecycle/email-change.ts';
import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';
import { accountNotFound } from './account-not-found.ts';

const [account = '', newEmail = ''] = readArguments('set-email').positionals;

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await setEmail(engine, account, newEmail))) throw accountNotFound(account);
  console.log(`The account has the email address ${newEmail}, which is not verified.`);
});
