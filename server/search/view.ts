import type { Database, Engine, IndexMark, IsChanged } from '../database/engine.ts';
import { DomainError } from '../errors.ts';

/** A snapshot of the search index. */
export interface SearchView {
  db: Database;
  /** The state of the index, for the positions of later pages. */
  mark: IndexMark;
  /**
   * Returns whether a space has been added, edited or moved down since a mark. Later pages omit it, because an earlier
   * page may already contain it.
   * @throws DomainError `invalid_cursor` if the index no longer knows it
   */
  changesSince(mark: IndexMark): Promise<IsChanged>;
}

/** For first pages, which omit no space. */
export const NOTHING_CHANGED: IsChanged = () => false;

/** Runs `read` on a snapshot of the search index. All its queries must use `view.db`. */
export function readIndex<T>(
  { searchIndex }: Pick<Engine, 'searchIndex'>,
  read: (view: SearchView) => Promise<T>,
): Promise<T> {
  return searchIndex.read(async (db) => {
    const mark = await searchIndex.readMark(db);
    const changesSince = async (first: IndexMark) => {
      const isChanged = await searchIndex.changesSince(db, first);
      if (isChanged) return isChanged;
      throw new DomainError(
        'invalid_cursor',
        'The cursor has expired. Repeat the request without a cursor.',
        [{ pointer: '?cursor', message: 'has expired' }],
      );
    };
    return read({ db, mark, changesSince });
  });
}
