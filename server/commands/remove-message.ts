import { readArguments } from '../command-line/arguments.ts';
import { OperatorError } from '../errors.ts';
import { removeMessage } from '../messages/messages.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

const { argument: messageId } = readArguments('remove-message');

await runOnDatabase(async (engine) => {
  if (!(await removeMessage(engine, messageId))) {
    throw new OperatorError(`There is no message with the id ${messageId}.`);
  }
  console.log(`The message ${messageId} has been deleted.`);
});
