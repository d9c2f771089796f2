// Delta encoding of ascending keys: the first key, then the difference of each key from the previous one. Each number
// is an unsigned LEB128 varint, usually of one to three bytes. Bitwise shifts would truncate keys to 32 bits.

/** Set in all bytes of a varint except the last one. The other seven bits are a digit of base 128. */
const CONTINUATION_BIT = 128;

/** Numbers up to 2⁵³ have at most eight digits of base 128. */
const MAX_VARINT_BYTES = 8;

/** @param keys non-negative integers in strictly ascending order */
export function packKeys(keys: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(keys.length * MAX_VARINT_BYTES);
  let end = 0;
  let previous = 0;
  for (const key of keys) {
    end = writeVarint(bytes, key - previous, end);
    previous = key;
  }
  return bytes.subarray(0, end);
}

export function unpackKeys(bytes: Uint8Array): number[] {
  const keys: number[] = [];
  let key = 0;
  let rest = 0;
  let unit = 1;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] as number;
    if (byte >= CONTINUATION_BIT) {
      rest += (byte - CONTINUATION_BIT) * unit;
      unit *= CONTINUATION_BIT;
    } else {
      key += rest + byte * unit;
      keys.push(key);
      rest = 0;
      unit = 1;
    }
  }
  return keys;
}

/** Returns the length in bytes of the first `count` varints from `start` on. */
export function varintsLength(bytes: Uint8Array, start: number, count: number): number {
  let end = start;
  for (let rest = count; rest > 0; end += 1) {
    if ((bytes[end] as number) < CONTINUATION_BIT) rest -= 1;
  }
  return end - start;
}

/** Writes a varint at `start`. Returns the index after it. */
export function writeVarint(bytes: Uint8Array, value: number, start: number): number {
  let rest = value;
  let at = start;
  for (; rest >= CONTINUATION_BIT; at += 1) {
    bytes[at] = (rest % CONTINUATION_BIT) + CONTINUATION_BIT;
    rest = Math.floor(rest / CONTINUATION_BIT);
  }
  bytes[at] = rest;
  return at + 1;
}

/** Returns the varint at `start`. */
export function readVarint(bytes: Uint8Array, start: number): number {
  let value = 0;
  let unit = 1;
  let at = start;
  for (; (bytes[at] as number) >= CONTINUATION_BIT; at += 1) {
    value += ((bytes[at] as number) - CONTINUATION_BIT) * unit;
    unit *= CONTINUATION_BIT;
  }
  return value + (bytes[at] as number) * unit;
}
