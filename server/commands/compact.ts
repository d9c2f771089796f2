import { type Config, configFromEnvironment } from '../config.ts';
import { compactDatabase, openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';
import { eraseDeletedRows } from '../profile/account-deletion.ts';

if (process.argv.length > 2) {
  console.error('Usage: npm run compact');
  process.exit(1);
}

await runProgram(async () => {
  const config = configFromEnvironment();
  await eraseRemainingRows(config);
  await compactDatabase(config);
  console.error('The database has been compacted. Its files contain no deleted data.');
});

/** In case the service stopped before it had deleted all rows of a deleted account. */
async function eraseRemainingRows(config: Config): Promise<void> {
  await using engine = await openExistingDatabase(config);
  while (!(await eraseDeletedRows(engine)));
}
