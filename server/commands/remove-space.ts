import { readArguments } from '../command-line/arguments.ts';
import { OperatorError } from '../errors.ts';
import { runOnDatabase } from '../process/run-on-database.ts';
import { removeSpace } from '../spaces/space-deletion.ts';

const { argument: spaceId } = readArguments('remove-space');

await runOnDatabase(async (engine) => {
  if (!(await removeSpace(engine, spaceId))) {
    throw new OperatorError(`There is no space with the id ${spaceId}.`);
  }
  console.log(`The space ${spaceId} and its messages have been deleted.`);
});
