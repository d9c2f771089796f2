/** A range of bytes, without the byte at `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

const FILE_HEADER_BYTES = 100;

/** Size of the header of a b-tree page by its first byte. Other pages never begin with these bytes. */
const HEADER_BYTES: Readonly<Record<number, number>> = {
  2: 12, // interior page of an index
  5: 12, // interior page of a table
  10: 8, // leaf of an index
  13: 8, // leaf of a table
};

const FIRST_FREEBLOCK_OFFSET = 1;
const CELL_COUNT_OFFSET = 3;
const CONTENT_START_OFFSET = 5;
const CELL_POINTER_BYTES = 2;

/** A freeblock begins with the offset of the next one and its own size, of two bytes each. */
const FREEBLOCK_HEADER_BYTES = 4;

/** The content area of an empty page begins here, but the field has only two bytes. */
const MAX_CONTENT_START = 65_536;

/**
 * Finds the unused space of a b-tree page: between the cell pointers and the cells, and in freeblocks. See
 * https://sqlite.org/fileformat.html#b_tree_pages
 *
 * Between cells, there can also be fragments of up to three bytes. They are too small for a copy of anything.
 * @param usableBytes the size of the page without the reserved space at its end
 * @returns an empty array for other pages, and for pages that do not have this format
 */
export function findUnusedSpace(
  page: Buffer,
  usableBytes: number,
  isFirstPage: boolean,
): ByteRange[] {
  const offset = isFirstPage ? FILE_HEADER_BYTES : 0;
  const headerBytes = HEADER_BYTES[page.readUInt8(offset)];
  if (headerBytes === undefined) return [];
  const cells = page.readUInt16BE(offset + CELL_COUNT_OFFSET);
  const start = offset + headerBytes + cells * CELL_POINTER_BYTES;
  const end = page.readUInt16BE(offset + CONTENT_START_OFFSET) || MAX_CONTENT_START;
  if (start > end || end > usableBytes) return [];
  const ranges = [{ start, end }];
  let previousEnd = end;
  let freeblock = page.readUInt16BE(offset + FIRST_FREEBLOCK_OFFSET);
  while (freeblock !== 0) {
    // Freeblocks are in ascending order.
    if (freeblock < previousEnd || freeblock + FREEBLOCK_HEADER_BYTES > usableBytes) return [];
    previousEnd = freeblock + page.readUInt16BE(freeblock + 2);
    const contentStart = freeblock + FREEBLOCK_HEADER_BYTES;
    if (previousEnd < contentStart || previousEnd > usableBytes) return [];
    ranges.push({ start: contentStart, end: previousEnd });
    freeblock = page.readUInt16BE(freeblock);
  }
  return ranges;
}
