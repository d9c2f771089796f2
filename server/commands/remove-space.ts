import { readArguments } from '../command-line/arguments.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { runProgram } from '../process/program.ts';
import { removeSpace } from '../spaces/space-deletion.ts';

const { argument: spaceId } = readArguments('remove-space');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  if (!(await removeSpace(engine, spaceId))) {
    throw new OperatorError(`There is no space with the id ${spaceId}.`);
  }
  console.log(`The space ${spaceId} and its messages have been deleted.`);
});
