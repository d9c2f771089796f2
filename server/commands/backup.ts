import { readArguments } from '../command-line/arguments.ts';
import { writeOutputFile } from '../command-line/output-file.ts';
import { assertDatabaseExists, copyDatabase } from '../database/open.ts';
import { describeTarget, runWithConfig } from '../process/run-on-database.ts';

const { argument: file } = readArguments('backup');

await runWithConfig(async (config) => {
  await assertDatabaseExists(config);
  await writeOutputFile(file, { kind: 'backup', dataDir: config.dataDir }, (path) =>
    copyDatabase(config, path),
  );
  const avatars =
    config.avatarBucket === null
      ? 'Avatars are separate files: copy DATA_DIR/avatars, too.'
      : `Avatars are in the bucket ${config.avatarBucket.name}: copy it, too.`;
  console.error(`The database has been copied to ${file}. ${avatars} ${describeTarget(config)}`);
});
