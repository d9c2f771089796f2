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

/** Returns the first `count` keys. By default, returns all. */
export function unpackKeys(bytes: Uint8Array, count = Infinity): number[] {
  const keys: number[] = [];
  let key = 0;
  let rest = 0;
  let unit = 1;
  for (let i = 0; i < bytes.length && keys.length < count; i += 1) {
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

/**
 * Adds keys to packed keys and removes others. Unpacks only the keys up to the last change.
 * @param size    number of packed keys
 * @param added   in ascending order; may contain packed and removed keys
 * @param removed in ascending order
 */
export function changeKeys(
  bytes: Uint8Array,
  size: number,
  added: readonly number[],
  removed: readonly number[],
): { size: number; packed: Uint8Array } {
  const changed = Buffer.allocUnsafe(bytes.length + (added.length + 1) * MAX_VARINT_BYTES);
  let end = 0;
  let previous = 0;
  let changedSize = size;
  const write = (key: number) => {
    end = writeVarint(changed, key - previous, end);
    previous = key;
  };
  const lastChange = Math.max(added.at(-1) ?? 0, removed.at(-1) ?? 0);
  let [nextAdded, nextRemoved] = [0, 0];
  let key = 0;
  let at = 0;
  while (at < bytes.length && key <= lastChange) {
    key += readVarint(bytes, at);
    at += varintsLength(bytes, at, 1);
    for (; (added[nextAdded] as number) < key; nextAdded += 1) {
      write(added[nextAdded] as number);
      changedSize += 1;
    }
    while ((removed[nextRemoved] as number) < key) nextRemoved += 1;
    const isAdded = added[nextAdded] === key;
    if (isAdded) nextAdded += 1;
    if (isAdded || removed[nextRemoved] !== key) write(key);
    else changedSize -= 1;
  }
  for (; nextAdded < added.length; nextAdded += 1) {
    write(added[nextAdded] as number);
    changedSize += 1;
  }
  // The last key that was read is after all changes, so it was kept, and the next difference remains valid.
  changed.set(bytes.subarray(at), end);
  return { size: changedSize, packed: changed.subarray(0, end + bytes.length - at) };
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
