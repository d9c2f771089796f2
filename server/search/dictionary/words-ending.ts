import { letterBit, type Trie } from './trie.ts';

/**
 * Returns the words that end with a text, without the text itself, in the order of the trie.
 * @param maxNodes stops after this many nodes, which bounds the time of a call
 */
export function wordsEndingWith(
  { unit, end, documents, letters }: Trie,
  text: string,
  maxNodes: number,
): { word: string; documents: number }[] {
  const { length } = text;
  const fallback = fallbacksOf(text);
  /** For each number of matched letters, the letters that must follow, one bit each. */
  const missing = new Uint32Array(length + 1);
  for (let i = length - 1; i >= 0; i -= 1) {
    missing[i] = (missing[i + 1] as number) | letterBit(text.charCodeAt(i));
  }
  const found: { word: string; documents: number }[] = [];
  const path: number[] = [];
  /** For each node of the path, how many first letters of the text it ends with. */
  const matched: number[] = [0];
  /** For each node of the path, the node after its subtree. */
  const ends: number[] = [];
  let node = 1;
  for (let visited = 0; node < (end[0] as number) && visited < maxNodes; visited += 1) {
    while (ends.length > 0 && node >= (ends.at(-1) as number)) {
      ends.pop();
      path.pop();
      matched.pop();
    }
    const letter = unit[node] as number;
    let count = matched.at(-1) as number;
    while (count === length || (count > 0 && text.charCodeAt(count) !== letter)) {
      count = fallback[count - 1] as number;
    }
    if (text.charCodeAt(count) === letter) count += 1;
    path.push(letter);
    const isWord = count === length && path.length > length && (documents[node] as number) > 0;
    if (isWord)
      found.push({ word: String.fromCharCode(...path), documents: documents[node] as number });
    const absent = (count === length ? 0 : (missing[count] as number)) & ~(letters[node] as number);
    if (absent !== 0 || end[node] === node + 1) {
      path.pop();
      node = end[node] as number;
    } else {
      matched.push(count);
      ends.push(end[node] as number);
      node += 1;
    }
  }
  return found;
}

/** Returns for each prefix of a text the length of the longest shorter prefix with which it ends. */
function fallbacksOf(text: string): number[] {
  const fallbacks = [0];
  for (let i = 1, count = 0; i < text.length; i += 1) {
    while (count > 0 && text[i] !== text[count]) count = fallbacks[count - 1] as number;
    if (text[i] === text[count]) count += 1;
    fallbacks.push(count);
  }
  return fallbacks;
}
