import { setEmail } from '../account-lifecycle/email-change.ts';
import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { DomainError, OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { accountNotFound } from './account-not-found.ts';

const [account = '', newEmail = ''] = readArguments('set-email').positionals;

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  try {
    if (!(await setEmail(engine, account, newEmail))) {
      throw accountNotFound(account);
    }
  } catch (error) {
    throw error instanceof DomainError ? new OperatorError(error.message) : error;
  }
  console.log(`The account has the email address ${newEmail}, which is not verified.`);
});
