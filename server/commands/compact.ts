import { configFromEnvironment } from '../config.ts';
import { rewriteDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';

if (process.argv.length > 2) {
  console.error('Usage: npm run compact');
  process.exit(1);
}

await runProgram(async () => {
  rewriteDatabase(configFromEnvironment());
  console.error('The database was rewritten without deleted content.');
});
