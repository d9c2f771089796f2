import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { withDatabase } from './integrity.ts';

/** Position of the first page of the list of free pages in the header: https://sqlite.org/fileformat.html */
const FREE_PAGES_OFFSET = 32;

/** Overwrites the first page of a table and of each of its indexes in a SQLite file that no process uses. */
export function damageTable(file: string, table: string): void {
  const pages = withDatabase(
    file,
    (sqlite) =>
      sqlite
        .prepare('SELECT rootpage FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0')
        .pluck()
        .all(table) as number[],
  );
  overwritePages(file, pages);
}

/** Overwrites the pages of the schema, except the first page of the file, without which SQLite does not open it. */
export function damageSchema(file: string): void {
  const pages = withDatabase(
    file,
    (sqlite) =>
      sqlite
        .prepare("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema' AND pageno > 1")
        .pluck()
        .all() as number[],
  );
  overwritePages(file, pages);
}

/** Overwrites the first page of the list of free pages in a SQLite file that no process uses. */
export function damageFreePages(file: string): void {
  overwritePages(file, [readFileSync(file).readUInt32BE(FREE_PAGES_OFFSET)]);
}

function overwritePages(file: string, pages: readonly number[]): void {
  const pageBytes = withDatabase(
    file,
    (sqlite) => sqlite.pragma('page_size', { simple: true }) as number,
  );
  const fd = openSync(file, 'r+');
  for (const page of pages) {
    writeSync(fd, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (page - 1) * pageBytes);
  }
  closeSync(fd);
}
