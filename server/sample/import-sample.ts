import { join } from 'node:path';
import { hashPassword } from '../auth/password-hashing.ts';
import { openAvatarFolder } from '../avatars/folder-store.ts';
import type { Location } from '../database/kind.ts';
import { openDatabase } from '../database/open.ts';
import { readDatabaseId } from '../database/secrets.ts';
import { importRecords } from '../import-export/import.ts';
import { drawAvatar } from './avatars.ts';
import { randomNumbers } from './random.ts';
import { DEMO_ACCOUNT, sampleAvatars, sampleRecords } from './sample.ts';

/** Adds the sample data to a database, with avatars in the data folder. Creates the database if it does not exist. */
export async function importSample(location: Location): Promise<void> {
  await using engine = await openDatabase(location, { purpose: 'import' });
  const passwordHash = await hashPassword(DEMO_ACCOUNT.password);
  await importRecords(engine, lines());

  const folder = join(location.dataDir, 'avatars');
  const avatars = await openAvatarFolder(folder, await readDatabaseId(engine), '');
  const random = randomNumbers(3);
  for (const name of sampleAvatars()) await avatars.put(name, await drawAvatar(random));

  async function* lines(): AsyncIterable<string> {
    for (const record of sampleRecords(passwordHash, new Date())) yield JSON.stringify(record);
  }
}
