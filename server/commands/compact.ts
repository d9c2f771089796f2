import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { compactDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';

readArguments('compact');

await runProgram(async () => {
  await compactDatabase(configFromEnvironment());
  console.error('The database has been compacted. Its files contain no deleted data.');
});
