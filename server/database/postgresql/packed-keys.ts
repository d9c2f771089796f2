// Ascending keys with delta encoding: the first key, then the difference of each key to the previous one. Each number
// is an unsigned LEB128 varint, most of one to three bytes. No bitwise operators, because they truncate keys to 32
// bits.

/** Set in all bytes of a varint except the last one. The other seven bits are a digit of base 128. */
const CONTINUATION_BIT = 128;

/** @param keys non-negative integers in strictly ascending order */
export function packKeys(keys: readonly number[]): Buffer {
  const bytes: number[] = [];
  let previous = 0;
  for (const key of keys) {
    let rest = key - previous;
    previous = key;
    while (rest >= CONTINUATION_BIT) {
      bytes.push((rest % CONTINUATION_BIT) + CONTINUATION_BIT);
      rest = Math.floor(rest / CONTINUATION_BIT);
    }
    bytes.push(rest);
  }
  return Buffer.from(bytes);
}

export function unpackKeys(bytes: Uint8Array): number[] {
  const keys: number[] = [];
  let key = 0;
  let unit = 1;
  for (const byte of bytes) {
    key += (byte % CONTINUATION_BIT) * unit;
    if (byte >= CONTINUATION_BIT) {
      unit *= CONTINUATION_BIT;
    } else {
      keys.push(key);
      unit = 1;
    }
  }
  return keys;
}
