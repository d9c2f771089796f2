/** A range of bytes. `end` is exclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

const FILE_HEADER_BYTES = 100;

/**
 * Size of the header of a b-tree page by its first byte. Up to `MAX_PAGES` of `scrub.ts`, overflow pages and freelist
 * trunk pages do not begin with these bytes.
 */
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

/** A freeblock begins with the offset of the next one and its own size. Both have two bytes. */
const FREEBLOCK_HEADER_BYTES = 4;

/** On an empty page of 64 KiB, the content area begins here. The field of two bytes then contains 0. */
const MAX_CONTENT_START = 65_536;

/**
 * Finds the unused space of a b-tree page: between the cell pointers and the cells, and in freeblocks. See
 * https://sqlite.org/fileformat.html#b_tree_pages
 *
 * Not included: fragments of up to three bytes between cells. They are too small to reveal deleted content.
 * @param usableBytes the size of the page without the reserved space at its end
 * @returns an empty array if the page is not a valid b-tree page
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
