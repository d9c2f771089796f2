import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import type { DocumentChanges } from '../../word-index.ts';
import { changeLists } from './change-blocks.ts';
import { mergeAllChanges } from './changes.ts';
import {
  countPostings,
  type ListChange,
  listChangesOf,
  markDocument,
  toListChanges,
} from './list-changes.ts';
import { unpackKeys } from './packed-keys.ts';
import { type Postings, packPostings, postingsOf, unpackPostings } from './postings.ts';
import type { Term } from './terms.ts';

// Each batch of an import changes most blocks of the index. Writing them for each batch would rewrite the whole index
// many times, and PostgreSQL would keep all versions. So each batch becomes a sorted run in a temporary table, and the
// runs are merged into the blocks at the end. All runs are divided into the same parts, each a range of terms, so that
// only one part at a time is in memory.

const MAX_PARTS = 256;

/** The parts are computed from a sample: the first batches that together have at least this many postings. */
const MIN_SAMPLE_SIZE = 100_000;

/** The changes of a part in one run. */
interface RunRow {
  part: number;
  added: Buffer;
  removed: Buffer;
}

/** See `WordIndex.changeMany`. */
export async function changeMany(
  db: Database,
  batches: AsyncIterable<DocumentChanges>,
): Promise<void> {
  await mergeAllChanges(db);
  await createRuns(db);
  const writer = new RunWriter(db);
  for await (const { removed, added } of batches) {
    await writer.write(listChangesOf(added.map(markDocument), removed.map(markDocument)));
  }
  await writer.flush();
  await sql`CREATE INDEX ON word_runs (part, number)`.execute(db);
  for (let part = 0; part < MAX_PARTS; part += 1) await mergePart(db, part);
  await sql`DROP TABLE word_runs`.execute(db);
}

async function createRuns(db: Database): Promise<void> {
  await sql`CREATE TEMPORARY TABLE word_runs (
    number bigint GENERATED ALWAYS AS IDENTITY, part integer NOT NULL,
    added bytea NOT NULL, removed bytea NOT NULL
  ) ON COMMIT DROP`.execute(db);
  // Not compressed, because the keys are packed already.
  await sql`ALTER TABLE word_runs
    ALTER COLUMN added SET STORAGE EXTERNAL, ALTER COLUMN removed SET STORAGE EXTERNAL`.execute(db);
}

/** Writes runs. Holds back the first ones until they are a sufficient sample to divide the terms into parts. */
class RunWriter {
  readonly #db: Database;
  #parts: Parts | undefined;
  #pending: (readonly ListChange[])[] = [];
  #pendingSize = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  async write(changes: readonly ListChange[]): Promise<void> {
    this.#pending.push(changes);
    this.#pendingSize += countPostings(changes);
    if (this.#parts || this.#pendingSize >= MIN_SAMPLE_SIZE) await this.flush();
  }

  async flush(): Promise<void> {
    this.#parts ??= new Parts(this.#pending.flat());
    for (const changes of this.#pending) await writeRun(this.#db, this.#parts.divide(changes));
    this.#pending = [];
  }
}

/** Ranges of terms with about the same number of postings. */
class Parts {
  /** The first term of each part except the first part. */
  readonly #begins: Term[] = [];

  /** @param sample changes in any order */
  constructor(sample: readonly ListChange[]) {
    const size = countPostings(sample);
    let postings = 0;
    let previous: Term | undefined;
    for (const change of sample.toSorted((a, b) => (a.term < b.term ? -1 : 1))) {
      const isFull = postings >= ((this.#begins.length + 1) * size) / MAX_PARTS;
      if (isFull && change.term !== previous) this.#begins.push(change.term);
      postings += countPostings([change]);
      previous = change.term;
    }
  }

  divide(changes: readonly ListChange[]): RunRow[] {
    const rows: RunRow[] = [];
    let next = 0;
    for (let part = 0; next < changes.length; part += 1) {
      const end = this.#begins[part];
      const first = next;
      while (
        next < changes.length &&
        (end === undefined || (changes[next] as ListChange).term < end)
      ) {
        next += 1;
      }
      const ofPart = changes.slice(first, next);
      if (ofPart.length === 0) continue;
      rows.push({ part, added: pack(ofPart, 'added'), removed: pack(ofPart, 'removed') });
    }
    return rows;
  }
}

function pack(changes: readonly ListChange[], kind: 'added' | 'removed'): Buffer {
  return packPostings(
    changes.flatMap(({ term, [kind]: keys }): Postings | [] =>
      keys.length === 0 ? [] : postingsOf(term, keys),
    ),
  );
}

async function writeRun(db: Database, rows: readonly RunRow[]): Promise<void> {
  await sql`
    INSERT INTO word_runs (part, added, removed) SELECT * FROM unnest(
      ${rows.map(({ part }) => part)}::integer[], ${rows.map(({ added }) => added)}::bytea[],
      ${rows.map(({ removed }) => removed)}::bytea[])`.execute(db);
}

/** Merges a part of all runs into the blocks. */
async function mergePart(db: Database, part: number): Promise<void> {
  const { rows } = await sql<RunRow>`
    SELECT added, removed FROM word_runs WHERE part = ${part} ORDER BY number`.execute(db);
  if (rows.length === 0) return;
  const added = new Map<Term, number[]>();
  const removed = new Map<Term, number[]>();
  const collect = (lists: Map<Term, number[]>, bytes: Buffer) => {
    for (const { term, packed } of unpackPostings(bytes)) {
      const keys = lists.get(term);
      if (keys) for (const key of unpackKeys(packed)) keys.push(key);
      else lists.set(term, unpackKeys(packed));
    }
  };
  for (const row of rows) {
    collect(added, row.added);
    collect(removed, row.removed);
  }
  for (const lists of [added, removed]) {
    for (const keys of lists.values()) keys.sort((a, b) => a - b);
  }
  await changeLists(db, toListChanges(added, removed), { isDense: true });
}
