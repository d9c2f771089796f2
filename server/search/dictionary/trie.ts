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

export interface TermCount {
  term: string;
  documents: number;
}

/**
 * Builds a trie in one pass. Needs memory for the result only.
 * @param terms         distinct, ordered by UTF-8 bytes or UTF-16 code units
 * @param minDocuments  words in fewer documents, and prefixes with a smaller total, are pruned
 * @param isKept        exempts words from pruning
 */
export async function buildTrie(
  terms: AsyncIterable<TermCount> | Iterable<TermCount>,
  minDocuments: number,
  isKept: (term: string) => boolean = () => false,
): Promise<Trie> {
  const nodes = new GrowingNodes();
  /** The nodes of the previous term, the root first. */
  const path = [nodes.add(0)];
  let previous = '';

  /** Closes the last nodes of the path, until this many are left. */
  const close = (depth: number) => {
    for (let node = path.pop(); node !== undefined; node = path.pop()) {
      nodes.close(node, minDocuments);
      if (path.length === depth) return;
    }
  };

  for await (const { term, documents } of terms) {
    const shared = commonPrefixLength(previous, term);
    if (path.length > shared + 1) close(shared + 1);
    for (let i = shared; i < term.length; i += 1) path.push(nodes.add(term.charCodeAt(i)));
    for (const node of path) nodes.addTotal(node, documents);
    const isWord = documents >= minDocuments || isKept(term);
    if (isWord) nodes.setDocuments(path[term.length] as number, documents);
    previous = term;
  }
  close(0);
  return nodes.toTrie();
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
function lettersBelow(unit: Uint16Array, end: Uint32Array): Uint32Array {
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

/** The arrays of a trie under construction. Nodes are removed from the end only. */
class GrowingNodes {
  #length = 0;
  #unit = new Uint16Array(1024);
  #end = new Uint32Array(1024);
  #documents = new Uint32Array(1024);
  #total = new Uint32Array(1024);

  add(unit: number): number {
    if (this.#length === this.#unit.length) this.#resize(2 * this.#length);
    const node = this.#length;
    this.#unit[node] = unit;
    this.#documents[node] = 0;
    this.#total[node] = 0;
    this.#length += 1;
    return node;
  }

  addTotal(node: number, documents: number): void {
    this.#total[node] = (this.#total[node] as number) + documents;
  }

  setDocuments(node: number, documents: number): void {
    this.#documents[node] = documents;
  }

  /** Ends the subtree of a node. Removes the node if it is a leaf without a word and has a total below `minTotal`. */
  close(node: number, minTotal: number): void {
    const isLeaf = this.#length === node + 1;
    const isPruned =
      node > 0 && isLeaf && this.#documents[node] === 0 && (this.#total[node] as number) < minTotal;
    if (isPruned) this.#length = node;
    else this.#end[node] = this.#length;
  }

  /** Returns the trie. It keeps the memory of the nodes, so no more can be added. */
  toTrie(): Trie {
    this.#resize(this.#length);
    const unit = this.#unit;
    const end = this.#end;
    return {
      unit,
      end,
      documents: this.#documents,
      total: this.#total,
      letters: lettersBelow(unit, end),
    };
  }

  /** Transfers the arrays, because copies would remain in memory until the next garbage collection. */
  #resize(length: number): void {
    this.#unit = new Uint16Array(this.#unit.buffer.transfer(2 * length));
    this.#end = new Uint32Array(this.#end.buffer.transfer(4 * length));
    this.#documents = new Uint32Array(this.#documents.buffer.transfer(4 * length));
    this.#total = new Uint32Array(this.#total.buffer.transfer(4 * length));
  }
}

function commonPrefixLength(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  let i = 0;
  while (i < length && left.charCodeAt(i) === right.charCodeAt(i)) i += 1;
  return i;
}
