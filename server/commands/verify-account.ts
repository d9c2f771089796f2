import { verifyAccount } from '../account-lifecycle/verification.ts';
import { readArguments } from '../command-line/arguments.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';

const { argument: email } = readArguments('verify-account');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await verifyAccount(engine, email))) {
    throw new OperatorError(`There is no account with the email address ${email}.`);
  }
  console.log(`The account of ${email} is verified.`);
});
