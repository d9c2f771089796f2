import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { SearchResult } from '../../../../generated/types.gen.ts';
import type { DatabaseTransaction, Engine } from '../../../../server/database/engine.ts';
import { transact } from '../../../../server/database/transaction.ts';
import { writerOf } from '../../../../server/search/writer-of.ts';
import type { TestUser } from '../../../support/client.ts';
import { draw } from '../../../support/drawing.ts';
import { runTogether } from '../together.ts';

const WRITERS = 8;
const READERS = 4;
const SPACES = 40;

/** Sends a request to a server. */
export type Send = (path: string) => Promise<Response>;

/** A space that one writer changes. */
interface Walker {
  name: string;
  pk: number;
  /** What each attempted change of the space is to make of it. Its title has the number of the change. */
  attempts: ('shown' | 'hidden' | 'never')[];
  /** The last change of which a later search must show this or a later state. */
  known: number;
}

export interface SearchCounts {
  searches: number;
  changes: number;
  /** Changes that failed or were rolled back. */
  discarded: number;
  /** Searches that returned 503 or were lost with the server. */
  unavailable: number;
}

/**
 * Searches while writers rename, hide and show spaces, in transactions of different length. Some of them fail, are
 * rolled back, or roll a savepoint back. Each search must show every change that was acknowledged before it, or that an
 * earlier search has shown, or a later one that was attempted before it ended, and none that was rolled back.
 * @param engines  write to the database
 * @param servers  of each machine. They may be unavailable.
 * @param isEnough ends the searches
 */
export async function checkSearches(
  user: TestUser,
  engines: readonly Engine[],
  servers: () => readonly Send[],
  isEnough: (counts: SearchCounts) => boolean,
): Promise<SearchCounts> {
  const word = `walk${Math.random()
    .toString(36)
    .replace(/[^a-z]/g, '')}`;
  const [engine] = engines as [Engine];
  const names = Array.from({ length: SPACES }, (_, i) => `s${i}`);
  const pks = await insertSpaces(
    engine,
    user,
    names.map((name) => `${word} ${name} 0`),
  );
  const walkers = names.map(
    (name, i): Walker => ({ name, pk: pks[i] as number, attempts: ['shown'], known: 0 }),
  );
  const counts = { searches: 0, changes: 0, discarded: 0, unavailable: 0 };
  let isDone = false;

  const write = async (writer: number) => {
    const own = walkers.filter((_, i) => i % WRITERS === writer);
    while (!isDone) {
      const walker = draw(own);
      const fate = Math.random();
      const end = fate < 0.2 ? 'roll back' : fate < 0.3 ? 'fail' : 'commit';
      const shown = Math.random() < 0.85 ? 'shown' : 'hidden';
      const number = walker.attempts.push(end === 'commit' ? shown : 'never') - 1;
      try {
        // Not serializable, so that more of them overlap. Each space has one writer.
        await draw(engines)
          .db.transaction()
          .execute(async (trx) => {
            if (Math.random() < 0.2) await makeDecoy(engine, trx, walker, word);
            await change(
              engine,
              trx,
              walker,
              `${word} ${walker.name} ${number}`,
              shown === 'shown',
            );
            await sleep(drawDuration());
            if (end === 'roll back') throw new RolledBack();
            if (end === 'fail') await sql`SELECT 1 / (SELECT 0)`.execute(trx);
          });
        walker.known = Math.max(walker.known, number);
        counts.changes += 1;
      } catch (error) {
        const isExpected = error instanceof RolledBack || codeOf(error) === DIVISION_BY_ZERO;
        if (isExpected) counts.discarded += 1;
        // The outcome of this change is unknown.
        else if (engine.isUnavailable(error)) await sleep(50);
        else throw error;
      }
    }
  };

  const read = async (reader: number) => {
    while (!isDone && !isEnough(counts)) {
      const all = servers();
      const send = all[reader % all.length] as Send;
      const known = walkers.map((walker) => walker.known);
      const response = await send(`/api/spaces/search?q=${word}&as_typed=true&limit=100`).catch(
        () => undefined,
      );
      if (!response || response.status === 503) {
        counts.unavailable += 1;
        await sleep(50);
        continue;
      }
      assert.equal(response.status, 200);
      const titles = ((await response.json()) as SearchResult[]).map(({ title }) => title);
      const found = new Map(
        titles.map((title) => {
          const [, name, number] = title.split(' ') as [string, string, string];
          return [name, Number(number)];
        }),
      );
      assert.equal(found.size, titles.length, `a space is repeated: ${titles}`);
      for (const [i, walker] of walkers.entries()) {
        const least = known[i] as number;
        const number = found.get(walker.name) ?? walker.attempts.indexOf('hidden', least);
        const expected = found.has(walker.name) ? 'shown' : 'hidden';
        const context = `${walker.name} is ${found.get(walker.name) ?? 'missing'}, expected ${least} or one of ${walker.attempts.length - 1 - least} later changes`;
        assert(number >= least && walker.attempts[number] === expected, context);
        walker.known = Math.max(walker.known, number);
        found.delete(walker.name);
      }
      assert.deepEqual([...found], []);
      counts.searches += 1;
    }
  };

  const reading = Promise.all(Array.from({ length: READERS }, (_, i) => read(i)));
  const writing = Array.from({ length: WRITERS }, (_, i) => write(i));
  await runTogether([reading, ...writing], () => {
    isDone = true;
  });
  return counts;
}

/**
 * Creates public spaces in one transaction.
 * @returns their keys, in the order of the titles
 */
export async function insertSpaces(
  engine: Engine,
  { userId }: TestUser,
  titles: readonly string[],
): Promise<number[]> {
  return transact(engine, async (trx) => {
    const { rows } = await sql<{ pk: number }>`
      INSERT INTO spaces (space_id, creator_pk, title, description, visibility, participant_count, created_at)
      SELECT gen_random_uuid(), pk, title, '', 'public', 0, ''
      FROM users, unnest(${titles}::text[]) WITH ORDINALITY AS titles (title, position)
      WHERE user_id = ${userId} ORDER BY position RETURNING pk`.execute(trx);
    const pks = rows.map(({ pk }) => pk);
    await writerOf(engine).indexSpaces(trx, pks);
    return pks;
  });
}

class RolledBack extends Error {}

const DIVISION_BY_ZERO = '22012';

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

/** In milliseconds. Most transactions are short. */
function drawDuration(): number {
  const share = Math.random();
  return share < 0.7 ? 0 : share < 0.99 ? Math.random() * 60 : Math.random() * 1_000;
}

async function change(
  engine: Engine,
  trx: DatabaseTransaction,
  { pk }: Walker,
  title: string,
  isShown: boolean,
): Promise<void> {
  const visibility = isShown ? 'public' : 'private';
  const invitation_code = isShown ? null : `code${pk}`;
  await trx
    .updateTable('spaces')
    .set({ title, visibility, invitation_code })
    .where('pk', '=', pk)
    .execute();
  await writerOf(engine).indexSpaces(trx, [pk]);
}

/** Makes a change, and rolls it back to a savepoint. */
async function makeDecoy(
  engine: Engine,
  trx: DatabaseTransaction,
  walker: Walker,
  word: string,
): Promise<void> {
  await sql`SAVEPOINT decoy`.execute(trx);
  await change(engine, trx, walker, `${word} decoy 0`, true);
  await sql`ROLLBACK TO decoy`.execute(trx);
}
