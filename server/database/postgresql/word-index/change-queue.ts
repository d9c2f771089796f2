import { countPostings, type ListChange } from './list-changes.ts';
import { mergeKeys } from './merge-keys.ts';
import { keyAt, type Position, positionOf, termAt } from './positions.ts';

/** A queue of changes in the order of their positions. */
export class ChangeQueue {
  /** In descending order of terms, so that the next change is the last element. */
  readonly #rest: ListChange[];
  /** Number of postings to add or remove. */
  readonly size: number;

  constructor(changes: readonly ListChange[]) {
    this.#rest = changes.toReversed();
    this.size = countPostings(changes);
  }

  get isEmpty(): boolean {
    return this.#rest.length === 0;
  }

  /** Returns at least `count` positions of the next changes, if there are as many. Does not divide a term. */
  peekPositions(count: number): Position[] {
    const positions: Position[] = [];
    for (let i = this.#rest.length - 1; i >= 0 && positions.length < count; i -= 1) {
      const { term, added, removed } = this.#rest[i] as ListChange;
      for (const key of mergeKeys(added, removed)) positions.push(positionOf(term, key));
    }
    return positions;
  }

  /**
   * Returns the first and the last of at least `count` next positions, if there are as many. Does not divide a term.
   */
  peekRange(count: number): [first: Position, last: Position] {
    let rest = count;
    let i = this.#rest.length;
    while (i > 0 && rest > 0) {
      i -= 1;
      const { added, removed } = this.#rest[i] as ListChange;
      rest -= added.length + removed.length;
    }
    const [first, last] = [this.#rest.at(-1) as ListChange, this.#rest[i] as ListChange];
    return [
      positionOf(first.term, Math.min(first.added[0] ?? Infinity, first.removed[0] ?? Infinity)),
      positionOf(last.term, Math.max(last.added.at(-1) ?? 0, last.removed.at(-1) ?? 0)),
    ];
  }

  /** Removes and returns the changes up to and including a position. */
  dequeueThrough(upper: Position): ListChange[] {
    const [upperTerm, upperKey] = [termAt(upper), keyAt(upper)];
    const dequeued: ListChange[] = [];
    while (true) {
      const change = this.#rest.at(-1);
      if (!change || change.term > upperTerm) return dequeued;
      this.#rest.pop();
      if (change.term < upperTerm) {
        dequeued.push(change);
        continue;
      }
      const [before, after] = divide(change, upperKey);
      if (before) dequeued.push(before);
      if (after) this.#rest.push(after);
      return dequeued;
    }
  }
}

/** Divides a change into its keys up to `upper` and those after it. */
function divide(
  { term, added, removed }: ListChange,
  upper: number,
): [before: ListChange | undefined, after: ListChange | undefined] {
  const part = (isWanted: (key: number) => boolean) => {
    const change = { term, added: added.filter(isWanted), removed: removed.filter(isWanted) };
    return change.added.length + change.removed.length > 0 ? change : undefined;
  };
  return [part((key) => key <= upper), part((key) => key > upper)];
}
