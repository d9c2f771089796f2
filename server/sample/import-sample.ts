import { hashPassword } from '../auth/password-hashing.ts';
import { openDatabaseForImport } from '../database/open.ts';
import { importRecords } from '../exchange/import.ts';
import { DEMO_ACCOUNT, sampleRecords } from './sample.ts';

/** Creates a database with the sample data. */
export async function importSample(dataDir: string): Promise<void> {
  await using engine = await openDatabaseForImport({ dataDir });
  const passwordHash = await hashPassword(DEMO_ACCOUNT.password);
  await importRecords(engine, lines());

  async function* lines(): AsyncIterable<string> {
    for (const record of sampleRecords(passwordHash, new Date())) yield JSON.stringify(record);
  }
}
