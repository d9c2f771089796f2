import { type RawBuilder, sql } from 'kysely';
import type { Commits, Database, NewEvent } from '../engine.ts';
import { lastEventTime } from '../last-event.ts';
import { columnOf, prepare, prepareForSet } from '../prepared.ts';

// A transaction has the write lock from its beginning. So it sees all earlier events, and the numbers of transactions
// increase in the order of their commits.

const countTransaction = sql<{ number: number }>`
  UPDATE last_transaction SET number = number + 1 RETURNING number`;

/** See `Engine.transactionNumber`. */
export async function transactionNumber(trx: Database): Promise<number> {
  const [row] = await nextNumber(trx, {});
  return (row as { number: number }).number;
}

const nextNumber = prepare({}, () => countTransaction);

/** See `Engine.nextEvent`. */
export async function nextEvent(trx: Database, spacePks: readonly number[]): Promise<NewEvent> {
  const rows = await countEvent(
    trx,
    spacePks.map((pk) => ({ pk })),
  );
  return {
    ms: Math.max(Date.now(), ...rows.map(({ time }) => (time === null ? 0 : Date.parse(time) + 1))),
    transaction: Math.max(...rows.map(({ number }) => number)),
  };
}

const countEvent = prepareForSet({ pk: 'bigint' }, (_, rows) => {
  const last = sql`SELECT max(${lastEventTime(sql.ref('spaces.pk'))}) FROM spaces
    WHERE pk IN (${sql.join(columnOf(rows, 'pk'))})`;
  return sql`${countTransaction}, (${last}) AS time` as RawBuilder<{
    number: number;
    time: string | null;
  }>;
});

/** See `Engine.readCommits`. */
export async function readCommits(db: Database): Promise<Commits> {
  const [row] = await selectLast(db, {});
  const { number, epoch } = row as { number: number; epoch: string };
  return { snapshot: { min: number + 1, end: number + 1, open: [] }, epoch };
}

const selectLast = prepare({}, (db) =>
  db.selectFrom('last_transaction').select(['number', 'epoch']),
);
