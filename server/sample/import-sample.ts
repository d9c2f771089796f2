import { hashPassword } from '../auth/password-hashing.ts';
import type { Location } from '../database/kind.ts';
import { openDatabase } from '../database/open.ts';
import { importRecords } from '../import-export/import.ts';
import { DEMO_ACCOUNT, sampleRecords } from './sample.ts';

/** Adds the sample data to a database, and creates the database if it does not exist. */
export async function importSample(location: Location): Promise<void> {
  await using engine = await openDatabase(location, { purpose: 'import' });
  const passwordHash = await hashPassword(DEMO_ACCOUNT.password);
  await importRecords(engine, lines());

  async function* lines(): AsyncIterable<string> {
    for (const record of sampleRecords(passwordHash, new Date())) yield JSON.stringify(record);
  }
}
