/**
 * Which transactions a snapshot of the database shows, by their numbers. On PostgreSQL, a transaction can end after later
 * ones, see https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT. On SQLite, none is open.
 */
export interface Snapshot {
  /** The lowest transaction that was open. All lower ones had ended. */
  min: number;
  /** One more than the highest transaction that had ended. */
  end: number;
  /** The transactions below `end` that were open. */
  open: readonly number[];
}

export const NOTHING_SHOWN: Snapshot = { min: 0, end: 0, open: [] };

/** Parses the text of a `pg_snapshot`, such as `10:20:10,14`. */
export function parseSnapshot(text: string): Snapshot {
  const [min, end, open = ''] = text.split(':');
  return {
    min: Number(min),
    end: Number(end),
    open: open === '' ? [] : open.split(',').map(Number),
  };
}

/** Whether a snapshot shows everything that another one does. */
export function includes(snapshot: Snapshot, other: Snapshot): boolean {
  const otherOpen = new Set(other.open);
  return (
    snapshot.end >= other.end &&
    snapshot.open.every((xid) => xid >= other.end || otherOpen.has(xid))
  );
}

/** Whether a snapshot shows the changes of a transaction that has been committed. */
export function shows({ end, open }: Snapshot, xid: number): boolean {
  return xid < end && !open.includes(xid);
}

/**
 * Encodes a snapshot as `end` and the differences between the transactions that were open. If they are too long, encodes
 * a snapshot that ends earlier, so that it shows less.
 */
export function encodeSnapshot(
  { end, open }: Snapshot,
  maxCharacters: number,
): [end: number, ...differences: number[]] {
  const ascending = open.toSorted((a, b) => a - b);
  const differences: number[] = [];
  let characters = 0;
  for (const [i, xid] of ascending.entries()) {
    const difference = xid - (ascending[i - 1] ?? 0);
    characters += String(difference).length + 1;
    if (characters > maxCharacters) return [xid, ...differences];
    differences.push(difference);
  }
  return [end, ...differences];
}

export function decodeSnapshot([end, ...differences]: readonly [
  end: number,
  ...differences: number[],
]): Snapshot {
  let last = 0;
  const open = differences.map((difference) => {
    last += difference;
    return last;
  });
  return { min: open[0] ?? end, end, open };
}
