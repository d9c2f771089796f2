import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { hashPassword } from '../../../server/auth/password-hashing.ts';
import { completeCommand } from '../../support/commands.ts';
import { type Server, startServer } from '../../support/server.ts';

/** The first integer that a 32-bit floating-point number cannot represent. */
const VETERAN_WORDS = 2 ** 24 + 1;

const VETERAN = { email: 'veteran@example.com', password: 'correct horse battery' };

/** A message has at most 2,000 characters, and each of these words needs two. */
const MAX_WORDS_PER_MESSAGE = 1_000;

/**
 * Starts a server with the account that every journey reads, whose statistics exceed the integers of a `float`.
 * @param folder   of the data
 * @param settings of the server, besides the folder
 */
export async function startSeededServer(
  folder: string,
  settings: Record<string, string>,
): Promise<Server> {
  const records = join(folder, 'records.ndjson');
  await writeRecords(records);
  const dataDir = join(folder, 'data');
  await completeCommand('import', [records], { DATA_DIR: dataDir });
  return startServer({ ...settings, DATA_DIR: dataDir });
}

async function writeRecords(path: string): Promise<void> {
  const file = createWriteStream(path);
  const write = (record: object) => file.write(`${JSON.stringify(record)}\n`);
  const user = { user_id: 'veteran', username: 'veteran', email: VETERAN.email, is_verified: true };
  const password_hash = await hashPassword(VETERAN.password);
  write({ type: 'user', ...user, password_hash });
  write({ type: 'space', space_id: 'archive', creator_id: 'veteran', title: 'Archive' });
  for (let written = 0; written < VETERAN_WORDS; written += MAX_WORDS_PER_MESSAGE) {
    const words = Math.min(MAX_WORDS_PER_MESSAGE, VETERAN_WORDS - written);
    const text = 'a '.repeat(words).trim();
    const message_id = `message-${written}`;
    write({ type: 'message', message_id, space_id: 'archive', author_id: 'veteran', text });
  }
  file.end();
  await once(file, 'finish');
}
