import { verifyAccount } from '../account-lifecycle/verification.ts';
import { readArguments } from '../command-line/arguments.ts';
import { OperatorError } from '../errors.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: email } = readArguments('verify-account');

await runOnDatabase(async (engine) => {
  if (!(await verifyAccount(engine, email))) {
    throw new OperatorError(`There is no account with the email address ${email}.`);
  }
  console.log(`The account of ${email} is verified.`);
});
