import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { CountedTag, SearchResult } from '../../../../generated/types.gen.ts';
import { deleteSuspendedAccount } from '../../../../server/account-lifecycle/deletion.ts';
import { restoreAccount, suspendAccount } from '../../../../server/account-lifecycle/suspension.ts';
import type { Engine } from '../../../../server/database/engine.ts';
import { transact } from '../../../../server/database/transaction.ts';
import { writerOf } from '../../../../server/search/writer-of.ts';
import { draw } from '../../../support/drawing.ts';
import { readPages } from '../../../support/pages.ts';
import { runTogether } from '../together.ts';
import type { Send } from './searches.ts';

/** Spaces of another user, the resident, among those of the crowds. */
const RESIDENTS = 30;

interface Crowd {
  userId: string;
  /** Also the only word and the only tag of its spaces that no other crowd has. */
  name: string;
  isHidden: boolean;
  /** Odd during a change whose end is not known. */
  version: number;
}

export interface CrowdCounts {
  reads: number;
  /** Suspensions, restorations and deletions. */
  changes: number;
}

/**
 * Reads lists while accounts with many spaces are suspended, restored, deleted and replaced. No list may show a space or
 * tag of an account after it was suspended or deleted, or miss or repeat a space of a user to whom nothing happens.
 * @param size    number of spaces of an account
 * @param isEnough ends the changes
 */
export async function checkCrowds(
  engine: Engine,
  servers: () => readonly Send[],
  size: number,
  isEnough: (counts: CrowdCounts) => boolean,
): Promise<CrowdCounts> {
  const word = `swarm${randomUUID().replace(/[^a-f]/g, '')}`;
  const counts = { reads: 0, changes: 0 };
  const crowds: Crowd[] = [];
  const deleted: Crowd[] = [];
  const add = async () => crowds.push(await insertCrowd(engine, word, size));
  await add();
  const { name: resident } = await insertCrowd(engine, word, RESIDENTS);
  await add();
  let isStopped = false;
  const isOver = () => isStopped || isEnough(counts);

  const change = async () => {
    while (!isOver()) {
      const crowd = draw(crowds);
      try {
        crowd.version += crowd.version % 2 === 0 ? 1 : 0;
        const isRestored = crowd.isHidden && Math.random() < 0.8;
        if (isRestored) await restoreAccount(engine, crowd.userId);
        else await suspendAccount(engine, crowd.userId);
        const isDeleted = !isRestored && Math.random() < 0.2;
        if (isDeleted) await deleteSuspendedAccount(engine, crowd.userId);
        Object.assign(crowd, { isHidden: !isRestored, version: crowd.version + 1 });
        counts.changes += 1;
        if (isDeleted) {
          crowds.splice(crowds.indexOf(crowd), 1);
          deleted.push(crowd);
          await add();
        }
      } catch (error) {
        // The outcome is unknown.
        if (!engine.isUnavailable(error)) throw error;
      }
      // Sometimes before the copies have removed or added the spaces.
      await sleep(Math.random() * 1_000);
    }
  };
  const read = async (reader: number) => {
    for (let i = reader; !isOver(); i += 1) {
      const hidden = [...crowds, ...deleted.slice(-5)]
        .filter(({ isHidden, version }) => isHidden && version % 2 === 0)
        .map((crowd) => ({ crowd, version: crowd.version }));
      const found = await readLists(servers(), word, resident, i);
      if (!found) {
        await sleep(50);
        continue;
      }
      const stillHidden = hidden
        .filter(({ crowd, version }) => crowd.version === version)
        .map(({ crowd }) => crowd.name);
      const shown = found.names.filter((name) => stillHidden.includes(name));
      assert.deepEqual(shown, [], 'a suspended or deleted account is shown');
      if (found.residents !== undefined) {
        assert.equal(found.residents, RESIDENTS, 'a list misses or repeats');
      }
      counts.reads += 1;
    }
  };

  await runTogether([change(), ...Array.from({ length: 3 }, (_, i) => read(i))], () => {
    isStopped = true;
  });
  return counts;
}

/** Creates an account with spaces, in two transactions. */
async function insertCrowd(engine: Engine, word: string, size: number): Promise<Crowd> {
  const name = `n${randomUUID().replaceAll('-', '')}`;
  for (;;) {
    try {
      await transact(engine, async (trx) => {
        await sql`INSERT INTO users (user_id, username, username_key, username_skeleton, email, email_key, bio, is_verified, created_at, updated_at)
          VALUES (${name}, ${name}, ${name}, ${name}, ${name}, ${name}, '', 0, '', '')
          ON CONFLICT DO NOTHING`.execute(trx);
        await sql`INSERT INTO tags (tag_key) VALUES (${name}), (${word}) ON CONFLICT DO NOTHING`.execute(
          trx,
        );
        const { rows } = await sql<{ pk: number }>`
          INSERT INTO spaces (space_id, creator_pk, title, description, visibility, participant_count, created_at)
          SELECT gen_random_uuid(), users.pk, ${`${word} ${name} `} || i, '', 'public', 0, ''
          FROM users, generate_series(1, ${size}::int) AS i
          WHERE user_id = ${name} AND NOT EXISTS (SELECT FROM spaces WHERE creator_pk = users.pk)
          RETURNING pk`.execute(trx);
        const pks = rows.map(({ pk }) => pk);
        await sql`INSERT INTO space_tags (space_pk, tag_id, position, tag_name)
          SELECT pk, tag_id, CASE tag_key WHEN ${word} THEN 0 ELSE 1 END, tag_key
          FROM unnest(${pks}::bigint[]) AS pk, tags WHERE tag_key IN (${name}, ${word})`.execute(
          trx,
        );
        await writerOf(engine).indexSpaces(trx, pks);
      });
      return { userId: name, name, isHidden: false, version: 0 };
    } catch (error) {
      if (!engine.isUnavailable(error)) throw error;
      await sleep(50);
    }
  }
}

/**
 * Reads one of the lists.
 * @returns the names of accounts and tags on it, and the number of the resident's spaces on a list of spaces; undefined
 *   if a server is not available
 */
async function readLists(
  servers: readonly Send[],
  word: string,
  resident: string,
  i: number,
): Promise<{ names: string[]; residents?: number } | undefined> {
  const send = servers[i % servers.length] as Send;
  let isAvailable = true;
  const fetch = async (path: string) => {
    const response = await send(path).catch(() => undefined);
    // A restart of PostgreSQL ends cursors.
    isAvailable = response !== undefined && ![400, 503].includes(response.status);
    return response ?? Response.error();
  };
  try {
    if (i % 5 === 0) {
      const tags = (await readPages<CountedTag>({ fetch }, '/api/tags?prefix=n&limit=100')).flat();
      return { names: tags.map(({ tag_name }) => tag_name) };
    }
    const lists = [
      `/api/spaces/search?q=${word}%20${resident}&as_typed=true&limit=9`,
      // Most results are of crowds, so a page can end early.
      `/api/spaces/search?q=${word}&as_typed=true&limit=100`,
      '/api/spaces?sort=newest&limit=100',
      '/api/spaces?sort=popular&limit=100',
    ];
    const pages = await readPages<SearchResult>({ fetch }, lists[i % lists.length] as string);
    const titles = pages.flat().map(({ title }) => title.split(' '));
    assert.equal(new Set(pages.flat().map(({ space_id }) => space_id)).size, titles.length);
    return {
      names: titles.map(([, name]) => name ?? ''),
      residents: titles.filter(([, name]) => name === resident).length,
    };
  } catch (error) {
    if (isAvailable) throw error;
    return undefined;
  }
}
