import { readArguments } from '../command-line/arguments.ts';
import { runOnDatabase } from '../command-line/run-on-database.ts';
import { OperatorError } from '../errors.ts';
import { removeSpace } from '../spaces/space-deletion.ts';

const { argument: spaceId } = readArguments('remove-space');

await runOnDatabase(async (engine) => {
  if (!(await removeSpace(engine, spaceId))) {
    throw new OperatorError(`There is no space with the id ${spaceId}.`);
  }
  console.log(`The space ${spaceId} and its messages have been deleted.`);
});
