import { isUtf8 } from 'node:buffer';
import { BadLineError } from './run.ts';

/** Valid records are shorter, even if all characters are escaped. */
const MAX_LINE_BYTES = 262_144;

const LINE_FEED = 0x0a;

const BYTE_ORDER_MARK = '\ufeff';

/**
 * Divides bytes into lines. Yields a BadLineError for each line that is too long or not UTF-8. Only line feeds
 * separate lines, because JSON texts can contain other separators, such as U+2028. Ignores a byte order mark.
 */
export async function* readLines(
  input: AsyncIterable<Buffer>,
): AsyncGenerator<string | BadLineError, void> {
  const line = new LineBuffer();
  let isFirst = true;
  const finish = () => {
    const text = line.finish();
    const hasMark = isFirst && typeof text === 'string' && text.startsWith(BYTE_ORDER_MARK);
    isFirst = false;
    return hasMark ? text.slice(BYTE_ORDER_MARK.length) : text;
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      line.append(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    line.append(chunk.subarray(start));
  }
  if (!line.isEmpty) yield finish();
}

/** Collects the bytes of the current line. Discards them if the line is too long. */
class LineBuffer {
  #parts: Buffer[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  append(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= MAX_LINE_BYTES) this.#parts.push(part);
    else this.#parts = [];
  }

  /** Returns the line and begins a new one. */
  finish(): string | BadLineError {
    const isTooLong = this.#bytes > MAX_LINE_BYTES;
    const [first] = this.#parts;
    const bytes = first && this.#parts.length === 1 ? first : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    if (isTooLong) {
      return new BadLineError(`is longer than ${MAX_LINE_BYTES.toLocaleString('en')} bytes`);
    }
    return isUtf8(bytes) ? bytes.toString() : new BadLineError('is not UTF-8');
  }
}
