import { sql } from 'kysely';
import type { SearchIndex } from '../database/engine.ts';
import { prepareForRows } from '../database/prepared.ts';
import { takeQueuedSpaces } from './index-queue.ts';
import type { IndexWriter } from './index-writer.ts';
import { findSpacesOf } from './live-spaces.ts';
import { documentKey } from './order.ts';

/** The writer of an index in copies: the transaction records which spaces have changed, and the copies read them. */
export function loggedIndex(record: NonNullable<SearchIndex['record']>): IndexWriter {
  const indexSpaces: IndexWriter['indexSpaces'] = (trx, spacePks) =>
    record(trx, { spacePks, omit: true });
  return {
    indexSpaces,
    indexNewSpace: (trx, { pk }) => indexSpaces(trx, [pk]),
    indexQueuedSpaces: async (trx) => indexSpaces(trx, await takeQueuedSpaces(trx)),
    async moveSpace(trx, { pk, participant_count }, delta) {
      const isDown =
        documentKey(pk, participant_count) > documentKey(pk, participant_count - delta);
      await record(trx, { spacePks: [pk], omit: isDown });
    },
    async moveSpacesLater(trx, spacePks) {
      const { rows } = await sql<{ pk: number }>`
        SELECT pk FROM spaces WHERE pk IN (${spacePks}) AND visibility = 'public'`.execute(trx);
      await indexSpaces(
        trx,
        rows.map(({ pk }) => pk),
      );
    },
    async hideDeletedSpaces(trx, column, value) {
      const spacePks = await findSpacesOf(trx, column, value);
      await enqueueErasures(
        trx,
        spacePks.map((space_pk) => ({ space_pk })),
      );
      // Copies hide the spaces of deleted users by themselves.
      if (column === 'pk') await indexSpaces(trx, spacePks);
    },
    // Copies do that by themselves.
    async hideSpacesOf() {},
    restoreSpacesOf: async (trx, userPk) =>
      indexSpaces(trx, await findSpacesOf(trx, 'creator_pk', userPk)),
    // A copy is built again if its version differs. The servers that have copies refresh the dictionaries in them.
    async clear() {},
    async fill() {},
    async refreshDictionary() {},
  };
}

const enqueueErasures = prepareForRows({ space_pk: 'bigint' }, (db, rows) =>
  db.insertInto('erased_spaces').columns(['space_pk']).values(rows),
);
