import { sql } from 'kysely';
import { connect } from '../../server/database/sqlite/dialect.ts';

// Writes to a file. With BACKLOG, its writers always wait for each other. Otherwise writes ten times, and sends how
// often another process has written meanwhile.

const WRITES = 10;

const db = connect(process.env.FILE as string);
const write = () =>
  db.transaction().execute(async (trx) => {
    for (let i = 0; i < 10; i += 1) {
      await sql`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 1000)
        SELECT sum(n) FROM numbers`.execute(trx);
    }
    await sql`INSERT INTO discarded_avatars VALUES (hex(randomblob(16)), '')`.execute(trx);
  });

async function countWrites(): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`SELECT count(*) AS count FROM discarded_avatars`.execute(db);
  return rows[0]?.count ?? 0;
}

async function writeAgainAndAgain(): Promise<never> {
  for (;;) await write();
}

/** What a busy worker does otherwise. Meanwhile, it cannot try to write. */
function work(): void {
  const end = performance.now() + 5;
  while (performance.now() < end);
}

if (process.env.BACKLOG) {
  await write();
  process.send?.('began');
  await Promise.all(Array.from({ length: 20 }, writeAgainAndAgain));
} else {
  setInterval(work, 1);
  const before = await countWrites();
  for (let i = 0; i < WRITES; i += 1) await write();
  process.send?.((await countWrites()) - before - WRITES);
}
