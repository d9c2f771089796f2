import { describeTarget, withConfig } from '../command-line/on-database.ts';
import { databaseKind } from '../database/open.ts';
import { updateSearchIndex } from '../search/rebuild.ts';

export const migrate = withConfig(async (config, { flags }, { console }) => {
  const kind = await databaseKind(config);
  const missing = await kind.missingMigrations(config);
  if (missing.length === 0) console.log('The database needs no migrations.');
  else if (flags.includes('dry-run')) console.log(`Missing migrations: ${missing.join(', ')}`);
  else {
    await using _ = await kind.open(config, {
      purpose: 'import',
      onLockWait: (message) => console.error(message),
      onMigration: (name, left) => console.error(`Migrating: ${name}, ${left} left`),
      prepare: (engine) =>
        updateSearchIndex(engine, (spaces) =>
          console.error(`Rebuilding the search index: ${spaces} spaces`),
        ),
    });
    console.log('The database has been migrated.');
  }
  console.error(describeTarget(config));
});
