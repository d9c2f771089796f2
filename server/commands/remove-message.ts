import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { removeMessage } from '../messages/messages.ts';
import { runProgram } from '../process/program.ts';
import { readOnlyArgument } from './arguments.ts';

const messageId = readOnlyArgument('npm run remove-message -- MESSAGE_ID');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await removeMessage(engine, messageId))) {
    throw new OperatorError(`There is no message with the id ${messageId}.`);
  }
  console.log(`The message ${messageId} has been deleted.`);
});
