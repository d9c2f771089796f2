import { closeSync, openSync, writeSync } from 'node:fs';
import { withDatabase } from './integrity.ts';

/** Overwrites the first page of a table and of each of its indexes in a SQLite file that no process uses. */
export function damageTable(file: string, table: string): void {
  const { pageBytes, pages } = withDatabase(file, (sqlite) => ({
    pageBytes: sqlite.pragma('page_size', { simple: true }) as number,
    pages: sqlite
      .prepare('SELECT rootpage FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0')
      .pluck()
      .all(table) as number[],
  }));
  const fd = openSync(file, 'r+');
  for (const page of pages) {
    writeSync(fd, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (page - 1) * pageBytes);
  }
  closeSync(fd);
}
