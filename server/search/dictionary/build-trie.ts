import { lettersBelow, type Trie } from './trie.ts';

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
