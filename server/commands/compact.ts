import { eraseDeletedRows } from '../account-lifecycle/erasure.ts';
import { readArguments } from '../command-line/arguments.ts';
import { type Config, configFromEnvironment } from '../config.ts';
import { compactDatabase, openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';

readArguments('compact');

await runProgram(async () => {
  const config = configFromEnvironment();
  await eraseRemainingRows(config);
  await compactDatabase(config);
  console.error('The database has been compacted. Its files contain no deleted data.');
});

/** Deletes the remaining rows of deleted spaces and accounts, which the compacted file would otherwise contain. */
async function eraseRemainingRows(config: Config): Promise<void> {
  await using engine = await openExistingDatabase(config);
  while (!(await eraseDeletedRows(engine)));
}
