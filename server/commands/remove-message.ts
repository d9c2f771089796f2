import { readArguments } from '../command-line/arguments.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { removeMessage } from '../messages/messages.ts';
import { runProgram } from '../process/program.ts';

const { argument: messageId } = readArguments('remove-message');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await removeMessage(engine, messageId))) {
    throw new OperatorError(`There is no message with the id ${messageId}.`);
  }
  console.log(`The message ${messageId} has been deleted.`);
});
