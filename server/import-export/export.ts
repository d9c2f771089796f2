import type { Engine } from '../database/engine.ts';
import { readSnapshot } from '../database/transaction.ts';
import { readAppreciations } from './appreciations.ts';
import { readBlocks } from './blocks.ts';
import { readMessages } from './messages.ts';
import { readParticipants } from './participants.ts';
import type { DataRecord } from './records.ts';
import { readSpaces } from './spaces.ts';
import { readUsers } from './users.ts';

/** In this order, each record refers only to earlier ones. */
const READERS = [
  readUsers,
  readSpaces,
  readParticipants,
  readMessages,
  readAppreciations,
  readBlocks,
];

/**
 * Passes all records of a snapshot of the database to `write`, in an order that can be imported. Does not export
 * sessions, reports or avatar files.
 */
export async function exportRecords(
  engine: Engine,
  write: (record: DataRecord) => Promise<void>,
): Promise<void> {
  await readSnapshot(engine.db, async (snapshot) => {
    for (const read of READERS) {
      for await (const record of read(snapshot)) await write(record);
    }
  });
}
