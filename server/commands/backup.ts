import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { assertDatabaseExists, copyDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';
import { writeOutputFile } from './output-file.ts';

const { argument: file } = readArguments('backup');

await runProgram(async () => {
  const config = configFromEnvironment();
  await assertDatabaseExists(config);
  await writeOutputFile(file, { kind: 'backup', dataDir: config.dataDir }, (path) =>
    copyDatabase(config, path),
  );
  console.error(
    `The database has been copied to ${file}. Avatars are separate files: copy DATA_DIR/avatars, too.`,
  );
});
