import { describeTarget, withConfig } from '../command-line/on-database.ts';
import { databaseKind } from '../database/open.ts';

export const checkDatabase = withConfig(async (config, { flags }, { console }) => {
  const kind = await databaseKind(config);
  const { index, data, isRepairable } = await kind.check(config, flags.includes('full'));
  for (const { table, message } of [...data, ...index]) console.log(`${table}: ${message}`);
  if (data.length > 0) {
    console.log(
      isRepairable
        ? 'No data is damaged, but new data cannot be stored. Run compact, which repairs this.'
        : 'Data is damaged. Stop the service, keep a copy of DATA_DIR, and restore the last good backup.',
    );
  } else if (index.length > 0) {
    console.log(
      'Only the search index was damaged, and it is empty now. The service rebuilds it, or does so at its next start. Then run compact at a quiet time, which removes the damaged pages.',
    );
  } else {
    console.log('The database is not damaged.');
  }
  console.error(describeTarget(config));
  return data.length > 0 ? 1 : 0;
});
