import type { Trie } from './trie.ts';

export interface SimilarWord {
  word: string;
  /** Edits between the two words: letters inserted, left out, replaced, or two neighbours swapped. */
  distance: number;
  /** Number of documents with this word. */
  documents: number;
  /** Sum of documents over the words that begin with this word. */
  total: number;
}

/** More than any distance that counts. */
const FAR = 99;

/** An edit of the first letter counts double: people seldom mistype it. */
const FIRST_LETTER_COST = 2;

/**
 * Finds the words within an edit distance, in the order of the trie. The distance is the optimal string alignment
 * distance, over UTF-16 code units.
 * @param maxDistance at most 2
 * @param maxNodes    stops after this many nodes, which bounds the time of a call
 */
export function similarWords(
  { unit, end, documents, total }: Trie,
  word: string,
  maxDistance: number,
  maxNodes: number,
): { found: SimilarWord[]; visited: number } {
  const length = word.length;
  const found: SimilarWord[] = [];
  /**
   * `rows[d][j]`: distance between the first `d` units of the path and the first `j` of the word. Only the band where `d`
   * and `j` differ by at most `maxDistance` is computed, because all else is farther away.
   */
  const rows = Array.from({ length: length + maxDistance + 2 }, () => new Uint8Array(length + 2));
  /** The least distance in each row. */
  const leasts = new Uint8Array(rows.length);
  const first = rows[0] as Uint8Array;
  for (let j = 1; j <= length; j += 1) first[j] = j - 1 + FIRST_LETTER_COST;
  const path: number[] = [];
  /** Nodes after the subtrees that the path is in. */
  const ends: number[] = [];

  let visited = 0;
  for (let node = 1; node < (end[0] as number) && visited < maxNodes; visited += 1) {
    while (ends.length > 0 && node >= (ends.at(-1) as number)) {
      ends.pop();
      path.pop();
    }
    const depth = path.length;
    const letter = unit[node] as number;
    const before = rows[depth] as Uint8Array;
    const row = rows[depth + 1] as Uint8Array;
    const swapped = depth > 0 ? (rows[depth - 1] as Uint8Array) : undefined;
    const editCost = depth === 0 ? FIRST_LETTER_COST : 1;
    const from = Math.max(1, depth + 1 - maxDistance);
    const to = Math.min(length, depth + 1 + maxDistance);
    row[from - 1] = from === 1 ? (before[0] as number) + editCost : FAR;
    row[to + 1] = FAR;
    let least = row[from - 1] as number;
    for (let j = from; j <= to; j += 1) {
      const isFirst = depth === 0 && j === 1;
      const replaced =
        (before[j - 1] as number) +
        (letter === word.charCodeAt(j - 1) ? 0 : isFirst ? FIRST_LETTER_COST : 1);
      const inserted = (before[j] as number) + editCost;
      const leftOut = (row[j - 1] as number) + (j === 1 ? FIRST_LETTER_COST : 1);
      let distance = Math.min(replaced, inserted, leftOut);
      if (
        swapped &&
        j > 1 &&
        letter === word.charCodeAt(j - 2) &&
        path[depth - 1] === word.charCodeAt(j - 1)
      ) {
        distance = Math.min(distance, (swapped[j - 2] as number) + 1);
      }
      row[j] = distance;
      least = Math.min(least, distance);
    }
    leasts[depth + 1] = least;
    const distance = to === length ? (row[length] as number) : FAR;
    if (distance <= maxDistance && (documents[node] as number) > 0) {
      found.push({
        word: String.fromCharCode(...path, letter),
        distance,
        documents: documents[node] as number,
        total: total[node] as number,
      });
    }
    const isLeaf = end[node] === node + 1;
    // A swap looks back two rows: a row that is one too many may still become one that is not.
    const isHopeless = least > maxDistance && (leasts[depth] as number) >= maxDistance;
    if (isLeaf || isHopeless || depth + 1 > length + maxDistance) {
      node = end[node] as number;
    } else {
      path.push(letter);
      ends.push(end[node] as number);
      node += 1;
    }
  }
  return { found, visited };
}
