import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Unique texts by kind, such as `title`. Finding one in a file reveals remaining data of an account. */
export interface Canaries {
  /** Returns ten random letters, the same for each call with this kind. */
  letters(kind: string): string;
  /** Returns ten rare Han characters, the same for each call with this kind. They form a run of an unspaced script. */
  unspaced(kind: string): string;
  /** Adds a text that was generated elsewhere. */
  add(kind: string, text: string): void;
  kinds(): string[];
  /** Returns whether a text contains part of any canary. */
  occurIn(text: string): boolean;
  /**
   * Searches names and content of all files in a folder for parts of each canary, ignoring ASCII case. Parts are
   * sufficient, because an index may store a word without its first or last letters.
   * @returns for each kind found, the position in each file and the surrounding bytes
   */
  find(folder: string): Promise<Map<string, string[]>>;
}

/** Vowels would form words. Username skeletons would replace confusable letters. */
const LETTERS = 'bcdfghjknpqrstvxz';
/** Number of letters. */
export const CANARY_LENGTH = 10;

/** Number of consecutive bytes in UTF-8, or units in UTF-16, that identify a canary. */
const PART_LENGTH = 5;
/** The same for a text similar to others, such as a timestamp or a hash. */
const LONG_PART_LENGTH = 24;

export function openCanaries(): Canaries {
  const texts = new Map<string, string>();
  const make = (kind: string, draw: () => string) => {
    const text = texts.get(kind) ?? Array.from({ length: CANARY_LENGTH }, draw).join('');
    texts.set(kind, text);
    return text;
  };
  const added = new Map<string, string>();
  const allParts = () => [
    ...[...texts].map(([kind, text]) => [kind, partsOf(text, PART_LENGTH)] as const),
    ...[...added].map(([kind, text]) => [kind, partsOf(text, LONG_PART_LENGTH)] as const),
  ];

  return {
    letters: (kind) => make(kind, () => LETTERS.charAt(randomBelow(LETTERS.length))),
    unspaced: (kind) => make(kind, () => String.fromCodePoint(0x9e00 + randomBelow(0x1a0))),
    add: (kind, text) => void added.set(kind, text),
    kinds: () => [...texts.keys(), ...added.keys()],

    occurIn(text) {
      const searched = lowerCase(Buffer.from(text));
      return allParts().some(([, parts]) => parts.some((part) => searched.includes(part)));
    },

    async find(folder) {
      const parts = allParts();
      const found = new Map<string, string[]>();
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const bytes = await readFile(join(entry.parentPath, entry.name));
        const searched = lowerCase(Buffer.concat([Buffer.from(entry.name), bytes]));
        for (const [kind, each] of parts) {
          const at = each.map((part) => searched.indexOf(part)).find((index) => index >= 0);
          if (at === undefined) continue;
          const excerpt = searched.toString('latin1', Math.max(0, at - 20), at + 40);
          const offset = at - entry.name.length;
          const match = `${entry.name}, byte ${offset}: ${JSON.stringify(excerpt)}`;
          found.set(kind, [...(found.get(kind) ?? []), match]);
        }
      }
      return found;
    },
  };
}

function randomBelow(limit: number): number {
  return Math.floor(Math.random() * limit);
}

/** Returns all substrings of a length, in bytes of UTF-8 and in units of UTF-16; the whole text if it is shorter. */
function partsOf(text: string, length: number): Buffer[] {
  const bytes = lowerCase(Buffer.from(text));
  const count = Math.max(1, bytes.length - length + 1);
  // The search dictionary stores words in UTF-16.
  const units = lowerCase(Buffer.from(text, 'utf16le'));
  const unitCount = Math.max(1, units.length / 2 - length + 1);
  return [
    ...Array.from({ length: count }, (_, i) => bytes.subarray(i, i + length)),
    ...Array.from({ length: unitCount }, (_, i) => units.subarray(2 * i, 2 * (i + length))),
  ];
}

/** Converts ASCII letters to lower case in place. */
function lowerCase(bytes: Buffer): Buffer {
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] as number;
    if (byte >= 0x41 && byte <= 0x5a) bytes[i] = byte + 0x20;
  }
  return bytes;
}
