import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Texts by which what held them can be recognised, by the kind of what held them. */
export interface Canaries {
  /** Letters that nothing else puts side by side: a new one of each kind, the same one afterwards. */
  letters(kind: string): string;
  /** Rare characters of a script that is written without spaces. */
  unspaced(kind: string): string;
  /** Adds a text that somebody else made up. */
  add(kind: string, text: string): void;
  kinds(): string[];
  /** Whether a text holds something of any kind. */
  areIn(text: string): boolean;
  /**
   * Looks for each kind in the bytes and the names of all files of a folder, capitals or not: for any few bytes in a
   * row, since an index may keep a word without its beginning or without its end.
   * @returns by kind, the first place in each file that holds something of it, and what is around it
   */
  find(folder: string): Promise<Map<string, string[]>>;
}

/** Neither vowels, which make words, nor letters that look like others: usernames are also kept as what they look like. */
const LETTERS = 'bcdfghjknpqrstvxz';
const LENGTH = 10;

/** In bytes: so many in a row of a text are the text's. */
const PART = 5;
/** Of texts that look like any other of their sort, such as times and numbers. */
const LONG_PART = 24;

export function openCanaries(): Canaries {
  const texts = new Map<string, string>();
  const make = (kind: string, draw: () => string) => {
    const text = texts.get(kind) ?? Array.from({ length: LENGTH }, draw).join('');
    texts.set(kind, text);
    return text;
  };
  const added = new Map<string, string>();
  const allParts = () => [
    ...[...texts].map(([kind, text]) => [kind, partsOf(text, PART)] as const),
    ...[...added].map(([kind, text]) => [kind, partsOf(text, LONG_PART)] as const),
  ];

  return {
    letters: (kind) => make(kind, () => LETTERS.charAt(below(LETTERS.length))),
    unspaced: (kind) => make(kind, () => String.fromCodePoint(0x9e00 + below(0x1a0))),
    add: (kind, text) => void added.set(kind, text),
    kinds: () => [...texts.keys(), ...added.keys()],

    areIn(text) {
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
          const at = each.map((part) => searched.indexOf(part)).find((place) => place >= 0);
          if (at === undefined) continue;
          const around = searched.toString('latin1', Math.max(0, at - 20), at + 40);
          const place = `${entry.name}, byte ${at - entry.name.length}: ${JSON.stringify(around)}`;
          found.set(kind, [...(found.get(kind) ?? []), place]);
        }
      }
      return found;
    },
  };
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

/** All that is so long and stands in a text, or the text if it is shorter. */
function partsOf(text: string, length: number): Buffer[] {
  const bytes = lowerCase(Buffer.from(text));
  const count = Math.max(1, bytes.length - length + 1);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i, i + length));
}

/** Lower case of ASCII letters, in place. */
function lowerCase(bytes: Buffer): Buffer {
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] as number;
    if (byte >= 0x41 && byte <= 0x5a) bytes[i] = byte + 0x20;
  }
  return bytes;
}
