import { setEmail } from '../auth/email-change.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { DomainError, OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { exitWithUsage, noSuchAccount } from './arguments.ts';

const [account, newEmail, ...rest] = process.argv.slice(2);
if (account === undefined || newEmail === undefined || rest.length > 0) {
  exitWithUsage('npm run set-email -- ADDRESS|USER_ID NEW_ADDRESS');
}

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  try {
    if (!(await setEmail(engine, account, newEmail))) {
      throw new OperatorError(noSuchAccount(account));
    }
  } catch (error) {
    throw error instanceof DomainError ? new OperatorError(error.message) : error;
  }
  console.log(`The account has the email address ${newEmail}, which is not verified.`);
});
