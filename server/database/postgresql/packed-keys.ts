// Ascending keys as bytes: the first key, then the difference of each key to the one before it. Each number has seven
// bits a byte, the lowest first, and the highest bit of a byte tells that another one follows. Most take one to three
// bytes. Bitwise operators are not used, because keys have more than 32 bits.

const CONTINUES = 128;

/** @param keys non-negative integers in strictly ascending order */
export function packKeys(keys: readonly number[]): Buffer {
  const bytes: number[] = [];
  let previous = 0;
  for (const key of keys) {
    let rest = key - previous;
    previous = key;
    while (rest >= CONTINUES) {
      bytes.push((rest % CONTINUES) + CONTINUES);
      rest = Math.floor(rest / CONTINUES);
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
    key += (byte % CONTINUES) * unit;
    if (byte >= CONTINUES) {
      unit *= CONTINUES;
    } else {
      keys.push(key);
      unit = 1;
    }
  }
  return keys;
}
