/**
 * A snapshot of PostgreSQL: which transactions it shows.
 * See https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT
 */
export interface Snapshot {
  /** The lowest transaction that was open. All lower ones had ended. */
  min: number;
  /** One more than the highest transaction that had ended. */
  end: number;
  /** The transactions below `end` that were open. */
  open: readonly number[];
}

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
