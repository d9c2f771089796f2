import type { RawBuilder } from 'kysely';
import type { Database, IndexableSpace } from '../database/engine.ts';

/**
 * How transactions that change spaces keep the search index up to date. Call its functions in the transaction, after the
 * change.
 */
export interface IndexWriter {
  /** Updates spaces in the index. */
  indexSpaces(trx: Database, spacePks: readonly number[]): Promise<void>;
  /** Adds a space that the transaction has created. Unlike `indexSpaces`, reads nothing. */
  indexNewSpace(trx: Database, space: IndexableSpace): Promise<void>;
  /**
   * Updates all queued spaces, and empties the queue.
   * @param onProgress called with the number of spaces so far
   */
  indexQueuedSpaces(trx: Database, onProgress?: (spaces: number) => void): Promise<void>;
  /**
   * Moves a public space if its participant count has reached another popularity step.
   * @param delta by how much the transaction has changed the count
   */
  moveSpace(
    trx: Database,
    space: { pk: number; participant_count: number },
    delta: number,
  ): Promise<void>;
  /**
   * Like `moveSpace`, for many spaces. Of the index in the database itself, maintenance moves them.
   * @param spacePks a query
   */
  moveSpacesLater(trx: Database, spacePks: RawBuilder<unknown>): Promise<void>;
  /** Removes deleted spaces from all results, and adds them to `erased_spaces`. */
  hideDeletedSpaces(trx: Database, column: 'pk' | 'creator_pk', value: number): Promise<void>;
  /** Removes the spaces of a user who has been suspended from all results. */
  hideSpacesOf(trx: Database, userPk: number): Promise<void>;
  /** Adds the spaces of a user whose suspension has ended. */
  restoreSpacesOf(trx: Database, userPk: number): Promise<void>;
  /** Empties the index, before its version changes. */
  clear(trx: Database): Promise<void>;
  /** Adds all spaces again. See `indexQueuedSpaces` for `onProgress`. */
  fill(trx: Database, onProgress: (spaces: number) => void): Promise<void>;
  /** Rebuilds the dictionary, after many changes. */
  refreshDictionary(): Promise<void>;
}
