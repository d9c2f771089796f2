import { sql } from 'kysely';
import type { Database } from '../engine.ts';
import { lastEventTime } from '../last-event.ts';
import { columnOf, prepareForSet } from '../prepared.ts';

/** See `Engine.nextEventMs`. A transaction has the write lock from its beginning, so it sees all earlier events. */
export async function nextEventMs(trx: Database, spacePks: readonly number[]): Promise<number> {
  const events = await findLastEvents(
    trx,
    spacePks.map((pk) => ({ pk })),
  );
  return Math.max(
    Date.now(),
    ...events.map(({ time }) => (time === null ? 0 : Date.parse(time) + 1)),
  );
}

const findLastEvents = prepareForSet({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .select(lastEventTime(sql.ref('spaces.pk')).as('time'))
    .where('pk', 'in', columnOf(rows, 'pk')),
);
