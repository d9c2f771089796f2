import { letterBit, type Trie } from './trie.ts';

export interface SimilarWord {
  word: string;
  /** Cost of the edits: insertions, deletions, substitutions and swaps of adjacent letters. See FIRST_LETTER_COST. */
  distance: number;
  /** Sum of documents over all words that begin with this word. */
  total: number;
}

/** Greater than any distance in a result. */
const FAR = 99;

/** An edit of the first letter counts double, except for a swap, because people rarely mistype it. */
const FIRST_LETTER_COST = 2;

/**
 * Returns the words at the smallest distance from a word, without the word itself, in the order of the trie. The
 * distance is the optimal string alignment distance over UTF-16 code units, computed row by row while walking the trie.
 * @param maxDistance maximum distance of the results; at most 2
 * @param minTotal    minimum `total` of a word, which excludes whole subtrees of rare words
 * @param maxNodes    maximum number of nodes to visit, which bounds the time of a call
 * @returns `visited` is the number of nodes visited
 */
export function similarWords(
  { unit, end, documents, total, letters }: Trie,
  word: string,
  maxDistance: number,
  minTotal: number,
  maxNodes: number,
): { found: SimilarWord[]; visited: number } {
  const length = word.length;
  let found: SimilarWord[] = [];
  /** The distance of the words found so far. Farther words are ignored. */
  let limit = maxDistance;
  /**
   * `rows[d][j]`: distance between the first `d` letters of the path and the first `j` letters of the word. Only the
   * band where `d` and `j` differ by at most `maxDistance` is computed, because all other distances are greater.
   */
  const rows = Array.from({ length: length + maxDistance + 2 }, () => new Uint8Array(length + 2));
  const first = rows[0] as Uint8Array;
  for (let j = 1; j <= length; j += 1) first[j] = j - 1 + FIRST_LETTER_COST;
  const rowMins = new Uint8Array(rows.length);
  /** `lowerBounds[d]`: lower bound for the distance of words that begin with the first `d` letters of the path. */
  const lowerBounds = new Uint8Array(rows.length);
  const lettersAfter = suffixLetters(word, rows.length + maxDistance + 2);
  const path: number[] = [];
  /** For each node of the path, the node after its subtree. */
  const ends: number[] = [];

  let visited = 0;
  for (let node = 1; node < (end[0] as number) && visited < maxNodes; visited += 1) {
    while (ends.length > 0 && node >= (ends.at(-1) as number)) {
      ends.pop();
      path.pop();
    }
    const depth = path.length;
    const letter = unit[node] as number;
    // A different first letter costs this edit, unless the first two letters are swapped.
    const isFirstEdited =
      depth === 0 && letter !== word.charCodeAt(0) && letter !== word.charCodeAt(1);
    const lowerBound = isFirstEdited ? FIRST_LETTER_COST : (lowerBounds[depth] as number);
    // Each letter in the rest of the word that does not occur below the node costs an edit. The rest begins a few
    // letters after the path, because edits can have matched the letters in between with letters of the path.
    const absent = (lettersAfter[depth + maxDistance + 2] as number) & ~(letters[node] as number);
    if ((total[node] as number) < minTotal || lowerBound + countBits(absent) > limit) {
      node = end[node] as number;
      continue;
    }
    const rowMin = computeRow(rows, depth, letter, path.at(-1), word, maxDistance);
    rowMins[depth + 1] = rowMin;
    // A swap with the next letter adds 1 to the previous row.
    const fromRows = Math.min(rowMin, (rowMins[depth] as number) + 1);
    lowerBounds[depth + 1] = Math.max(lowerBound, fromRows);
    const isInBand = depth + 1 >= length - maxDistance;
    const distance = isInBand ? (rows[depth + 1]?.[length] as number) : FAR;
    if (distance > 0 && distance <= limit && (documents[node] as number) > 0) {
      if (distance < limit) found = [];
      limit = distance;
      found.push({
        word: String.fromCharCode(...path, letter),
        distance,
        total: total[node] as number,
      });
    }
    const isLeaf = end[node] === node + 1;
    const isTooFar = (lowerBounds[depth + 1] as number) > limit;
    if (isLeaf || isTooFar || depth + 1 > length + maxDistance) {
      node = end[node] as number;
    } else {
      path.push(letter);
      ends.push(end[node] as number);
      node += 1;
    }
  }
  return { found, visited };
}

/** Returns for each index the letters of the word from this index on, one bit each (see `letterBit`). */
function suffixLetters(word: string, size: number): Uint32Array {
  const letters = new Uint32Array(size);
  for (let i = word.length - 1; i >= 0; i -= 1) {
    letters[i] = (letters[i + 1] as number) | letterBit(word.charCodeAt(i));
  }
  return letters;
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/**
 * Computes the row after `depth` for a path that ends with `letter`, from the two rows before it.
 * @param previousLetter the letter before `letter`; undefined at depth 0
 * @returns the smallest distance in the row
 */
function computeRow(
  rows: readonly Uint8Array[],
  depth: number,
  letter: number,
  previousLetter: number | undefined,
  word: string,
  maxDistance: number,
): number {
  const row = rows[depth + 1] as Uint8Array;
  const previous = rows[depth] as Uint8Array;
  const beforePrevious = depth > 0 ? rows[depth - 1] : undefined;
  const editCost = depth === 0 ? FIRST_LETTER_COST : 1;
  const from = Math.max(1, depth + 1 - maxDistance);
  const to = Math.min(word.length, depth + 1 + maxDistance);
  row[from - 1] = from === 1 ? (previous[0] as number) + editCost : FAR;
  row[to + 1] = FAR;
  let rowMin = row[from - 1] as number;
  for (let j = from; j <= to; j += 1) {
    const isFirst = depth === 0 && j === 1;
    const substitution =
      (previous[j - 1] as number) +
      (letter === word.charCodeAt(j - 1) ? 0 : isFirst ? FIRST_LETTER_COST : 1);
    const insertion = (previous[j] as number) + editCost;
    const deletion = (row[j - 1] as number) + (j === 1 ? FIRST_LETTER_COST : 1);
    let distance = Math.min(substitution, insertion, deletion);
    if (
      beforePrevious &&
      j > 1 &&
      letter === word.charCodeAt(j - 2) &&
      previousLetter === word.charCodeAt(j - 1)
    ) {
      distance = Math.min(distance, (beforePrevious[j - 2] as number) + 1);
    }
    row[j] = distance;
    rowMin = Math.min(rowMin, distance);
  }
  return rowMin;
}
