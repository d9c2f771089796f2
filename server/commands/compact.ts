import { configFromEnvironment } from '../config.ts';
import { compactDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';

if (process.argv.length > 2) {
  console.error('Usage: npm run compact');
  process.exit(1);
}

await runProgram(async () => {
  await compactDatabase(configFromEnvironment());
  console.error('The database has been compacted. Its files contain no deleted data.');
});
