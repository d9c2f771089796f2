/**
 * A trie of words in typed arrays, which are stored and loaded as bytes without parsing. The index into each array is
 * the number of a node. Nodes are in preorder: node 0 is the root, and the first child of a node follows it.
 */
export interface Trie {
  /** The UTF-16 code unit on the edge to the node. */
  unit: Uint16Array;
  /** The node after the subtree of the node. */
  end: Uint32Array;
  /** Number of documents with the word that ends at the node; 0 if no word does. */
  documents: Uint32Array;
  /** Sum of documents over all words with the prefix that ends at the node, including pruned words. */
  total: Uint32Array;
  /** The letters below the node, one bit each (see `letterBit`). Computed from the other arrays instead of stored. */
  letters: Uint32Array;
}

/** Returns the node where `text` ends; undefined if the trie has no such prefix. */
export function findNode({ unit, end }: Trie, text: string): number | undefined {
  let node = 0;
  for (let i = 0; i < text.length; i += 1) {
    const wanted = text.charCodeAt(i);
    const after = end[node] as number;
    let child = node + 1;
    while (child < after && unit[child] !== wanted) child = end[child] as number;
    if (child >= after) return undefined;
    node = child;
  }
  return node;
}

/**
 * Returns the words that extend the text of a node by 0 to `maxLength` letters, in the order of the trie.
 * @param maxNodes stops after this many nodes, which bounds the time of a call
 */
export function wordsBelow(
  { unit, end, documents }: Trie,
  start: number,
  maxLength: number,
  maxNodes: number,
): { ending: string; documents: number }[] {
  const found: { ending: string; documents: number }[] = [];
  const path: number[] = [];
  /** For each node of the path, the node after its subtree. */
  const ends: number[] = [];
  let node = start;
  for (let visited = 0; node < (end[start] as number) && visited < maxNodes; visited += 1) {
    while (ends.length > 0 && node >= (ends.at(-1) as number)) {
      ends.pop();
      path.pop();
    }
    if (node !== start) {
      path.push(unit[node] as number);
      ends.push(end[node] as number);
    }
    const count = documents[node] as number;
    if (count > 0) found.push({ ending: String.fromCharCode(...path), documents: count });
    node = path.length < maxLength ? node + 1 : (end[node] as number);
  }
  return found;
}

/** Serialises a trie in the byte order of this machine. */
export function trieToBytes({ unit, end, documents, total }: Trie): Buffer {
  return Buffer.concat(
    [end, documents, total, unit].map((array) =>
      Buffer.from(array.buffer, array.byteOffset, array.byteLength),
    ),
  );
}

/** Restores a trie from the result of `trieToBytes`. Uses the memory of `bytes` if typed arrays can. */
export function trieFromBytes(bytes: Uint8Array): Trie {
  const nodes = bytes.byteLength / BYTES_PER_NODE;
  const isAligned = bytes.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset: start } = isAligned ? bytes : Uint8Array.from(bytes);
  const end = new Uint32Array(buffer, start, nodes);
  const unit = new Uint16Array(buffer, start + nodes * 12, nodes);
  return {
    end,
    documents: new Uint32Array(buffer, start + nodes * 4, nodes),
    total: new Uint32Array(buffer, start + nodes * 8, nodes),
    unit,
    letters: lettersBelow(unit, end),
  };
}

/** Returns the bit of a letter. Letters whose code units differ by a multiple of 32 share a bit. */
export function letterBit(unit: number): number {
  return 1 << (unit % 32);
}

/** Returns the letters below each node. */
export function lettersBelow(unit: Uint16Array, end: Uint32Array): Uint32Array {
  const letters = new Uint32Array(unit.length);
  // Backwards, so that the letters below the children are already known.
  for (let node = unit.length - 1; node >= 0; node -= 1) {
    let below = 0;
    for (let child = node + 1; child < (end[node] as number); child = end[child] as number) {
      below |= (letters[child] as number) | letterBit(unit[child] as number);
    }
    letters[node] = below;
  }
  return letters;
}

const BYTES_PER_NODE = 14;
