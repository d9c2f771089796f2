import { describeTarget, withConfig } from '../command-line/on-database.ts';
import { writeOutputFile } from '../command-line/output-file.ts';
import { databaseKind } from '../database/open.ts';
import { recordBackup } from '../system/last-backup.ts';

export const backUp = withConfig(async (config, { argument: file }, { console }) => {
  const kind = await databaseKind(config);
  kind.assertExists(config);
  await writeOutputFile(file, { kind: 'backup', dataDir: config.dataDir }, (path) =>
    kind.copy(config, path),
  );
  await recordBackup(config.dataDir).catch(({ message }: Error) =>
    console.error(`The metrics will not show this backup. ${message}`),
  );
  const avatars =
    config.avatarBucket === null
      ? 'Avatars are separate files: copy DATA_DIR/avatars, too.'
      : `Avatars are in the bucket ${config.avatarBucket.name}: copy it, too.`;
  console.error(`The database has been copied to ${file}. ${avatars} ${describeTarget(config)}`);
});
