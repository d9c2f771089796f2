import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DatabaseTransaction, Engine } from '../../../server/database/engine.ts';
import { openPostgresql } from '../../../server/database/postgresql/engine.ts';
import { PostgresqlMaintenance } from '../../../server/database/postgresql/maintenance/maintenance.ts';
import { MAX_UNMAINTAINED_CHANGES } from '../../../server/database/postgresql/word-index/changes.ts';
import {
  transact,
  transactOnIndex,
  transactOnSnapshot,
} from '../../../server/database/transaction.ts';
import type { IndexedDocument, WordReader } from '../../../server/database/word-index.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';
import { type RandomInteger, randomIntegers } from '../../support/random.ts';
import { countRows } from './count-rows.ts';
import { waitForLockWaits } from './lock-waits.ts';

/** More than `MAX_CHANGES`: a call with so many documents changes the blocks directly. */
const MANY = 20;

let server: PostgresqlServer;
let databases = 0;
let engine: Engine;
let blocker: pg.Client;

beforeAll(async () => {
  server = await startPostgresql();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  const url = await server.createDatabase(`merge${++databases}`);
  engine = await openPostgresql(url, { runsMaintenance: false });
  blocker = new pg.Client(url);
  await blocker.connect();
});
afterEach(async () => {
  await blocker.end();
  await engine.close();
});

const documentOf = (key: number, ...words: string[]): IndexedDocument => ({
  key,
  words: { title: words.slice(0, 1), all: words },
});

const documentsOf = (first: number, count: number, ...words: string[]) =>
  Array.from({ length: count }, (_, i) => documentOf(first + i, ...words));

const merge = () => transactOnSnapshot(engine, (trx) => engine.wordIndex.optimize(trx));

const change = (work: (trx: DatabaseTransaction) => Promise<void>) => transactOnIndex(engine, work);

const addOneByOne = async (documents: readonly IndexedDocument[]) => {
  for (const document of documents) {
    await change((trx) => engine.wordIndex.add(trx, [document]));
  }
};

const findWord = (reader: WordReader, word: string, isPrefix = false) =>
  reader.find(
    { pattern: { term: word, isPrefix }, scope: 'all' },
    { after: -1, limit: Number.MAX_SAFE_INTEGER },
  );

const find = (word: string, isPrefix = false) =>
  findWord(engine.wordIndex.openReader(engine.db, []), word, isPrefix);

const keysOf = (documents: readonly IndexedDocument[]) => documents.map(({ key }) => key);

/** Starts a merge that cannot write blocks until `meanwhile` has ended. Returns whether it was committed. */
async function mergeDuring(meanwhile: () => Promise<unknown>): Promise<boolean> {
  await blocker.query('BEGIN; LOCK TABLE word_blocks IN SHARE MODE');
  const merging = merge();
  try {
    await waitForLockWaits(engine, 1);
    await meanwhile();
  } finally {
    await blocker.query('COMMIT');
  }
  return merging;
}

/** Like `mergeDuring`, for a change that waits for the merge. */
async function mergeBefore(work: () => Promise<unknown>): Promise<void> {
  let changing: Promise<unknown> | undefined;
  const isMerged = await mergeDuring(async () => {
    changing = work();
    await waitForLockWaits(engine, 2);
  });
  expect(isMerged).toBe(true);
  await changing;
}

/** Starts a transaction that calls `pause`, and runs `meanwhile` during its first pause. */
async function interrupt(
  start: (pause: () => Promise<void>) => Promise<unknown>,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const [paused, continued] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const started = start(() => {
    paused.resolve();
    return continued.promise;
  });
  await Promise.race([paused.promise, started]);
  try {
    await meanwhile();
  } finally {
    continued.resolve();
    await started;
  }
}

/** Creates maintenance that merges only when there are many changes, never because of a quiet period. */
function createMaintenance(refreshDictionary = async () => true): PostgresqlMaintenance {
  const tasks = { refreshDictionary, eraseDeletedRows: async () => true };
  return new PostgresqlMaintenance(engine, new AbortController().signal, tasks, Infinity);
}

describe('Maintenance', () => {
  test('merges changes as soon as there are many, without waiting for a quiet period', async () => {
    const maintenance = createMaintenance();
    await addOneByOne(documentsOf(1, 16, 'rye'));
    await maintenance.runRound();
    expect(await countRows(engine.db, 'word_changes')).toBe(16);
    await addOneByOne(documentsOf(17, 1, 'rye'));
    await maintenance.runRound();
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
  });

  test('merges changes while it refreshes the dictionary', async () => {
    const refresh = Promise.withResolvers<boolean>();
    const round = createMaintenance(() => refresh.promise).runRound();
    await addOneByOne(documentsOf(1, MANY, 'rye'));
    try {
      await expect.poll(() => countRows(engine.db, 'word_changes')).toBe(0);
    } finally {
      refresh.resolve(true);
    }
    await round;
  });

  test('tries again in the next round if another transaction has locked the blocks', async () => {
    const maintenance = createMaintenance();
    await addOneByOne(documentsOf(1, MANY, 'rye'));
    await blocker.query('BEGIN; UPDATE search_index SET version = version');
    await maintenance.runRound();
    expect(await countRows(engine.db, 'word_changes')).toBe(MANY);
    await blocker.query('COMMIT');
    await maintenance.runRound();
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
  });
});

describe('A writer', () => {
  test('leaves changes to maintenance, and merges them itself if maintenance does not run', async () => {
    await addOneByOne(documentsOf(1, MAX_UNMAINTAINED_CHANGES, 'rye'));
    expect(await countRows(engine.db, 'word_changes')).toBe(MAX_UNMAINTAINED_CHANGES);
    await addOneByOne([documentOf(1_000, 'rye')]);
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
    expect(await find('rye')).toHaveLength(MAX_UNMAINTAINED_CHANGES + 1);
  });

  test('does not wait for a running merge, even if there are too many changes', async () => {
    const first = documentsOf(1, MANY, 'rye');
    await addOneByOne(first);
    const others = documentsOf(100, MAX_UNMAINTAINED_CHANGES, 'rye');
    const isMerged = await mergeDuring(async () => {
      await addOneByOne(others);
      await change((trx) => engine.wordIndex.remove(trx, others.slice(0, 1)));
    });
    expect(isMerged).toBe(true);
    expect(await countRows(engine.db, 'word_changes')).toBe(others.length - 1);
    expect(await find('rye')).toEqual(keysOf([...first, ...others.slice(1)]));
  });

  test('does not delay a merge of other keys', async () => {
    const [document, ...others] = documentsOf(1, MANY, 'rye') as [IndexedDocument];
    await addOneByOne([document, ...others]);
    await interrupt(
      (pause) =>
        change(async (trx) => {
          await engine.wordIndex.remove(trx, [document]);
          await pause();
        }),
      async () => {
        expect(await merge()).toBe(true);
        expect(await countRows(engine.db, 'word_changes')).toBe(1);
      },
    );
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
    expect(await find('rye')).toEqual(keysOf(others));
  });
});

describe('A change of a key that is being merged is not lost if it', () => {
  const before = documentOf(1, 'rye', 'bread');
  const after = documentOf(1, 'oats', 'bread');

  const add = (document: IndexedDocument) => change((trx) => engine.wordIndex.add(trx, [document]));
  const remove = (document: IndexedDocument) =>
    change((trx) => engine.wordIndex.remove(trx, [document]));
  const replace = (from: IndexedDocument, to: IndexedDocument) =>
    change(async (trx) => {
      await engine.wordIndex.remove(trx, [from]);
      await engine.wordIndex.add(trx, [to]);
    });

  /** Compares the index with these documents, before and after a merge. */
  async function expectDocuments(...documents: IndexedDocument[]): Promise<void> {
    for (let i = 0; i < 2; i += 1) {
      for (const word of ['rye', 'oats', 'bread']) {
        const matches = documents.filter(({ words }) => words.all.includes(word));
        expect([word, await find(word)]).toEqual([word, keysOf(matches)]);
      }
      await merge();
    }
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
  }

  test('removes an added document', async () => {
    await add(before);
    await mergeBefore(() => remove(before));
    await expectDocuments();
  });

  test('replaces an added document', async () => {
    await add(before);
    await mergeBefore(() => replace(before, after));
    await expectDocuments(after);
  });

  test('adds a removed document again', async () => {
    await add(before);
    await merge();
    await remove(before);
    await mergeBefore(() => add(after));
    await expectDocuments(after);
  });

  test('removes a replaced document', async () => {
    await add(before);
    await merge();
    await replace(before, after);
    await mergeBefore(() => remove(after));
    await expectDocuments();
  });

  test('replaces a replaced document', async () => {
    await add(before);
    await merge();
    await replace(before, after);
    await mergeBefore(() => replace(after, before));
    await expectDocuments(before);
  });

  test('moves a document to a key and back', async () => {
    const moved = { ...before, key: 2 };
    await add(before);
    await merge();
    await replace(before, moved);
    await mergeBefore(() => replace(moved, before));
    await expectDocuments(before);
  });
});

describe('A change of many documents', () => {
  test('waits for a running merge, and loses nothing', async () => {
    const [first, second] = [documentsOf(1, MANY, 'rye'), documentsOf(100, MANY, 'rye', 'oats')];
    await addOneByOne(first);
    await mergeBefore(() => change((trx) => engine.wordIndex.add(trx, second)));
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
    expect(await find('rye')).toEqual(keysOf([...first, ...second]));
    expect(await find('oats')).toEqual(keysOf(second));
  });

  test('runs again if a merge has changed the blocks since its snapshot', async () => {
    const [first, second] = [documentsOf(1, 2, 'rye'), documentsOf(100, MANY, 'rye')];
    let runs = 0;
    await interrupt(
      (pause) =>
        transact(engine, async (trx) => {
          runs += 1;
          await trx.selectFrom('search_revision').selectAll().execute();
          await pause();
          await engine.wordIndex.add(trx, second);
        }),
      async () => {
        await addOneByOne(first);
        expect(await merge()).toBe(true);
      },
    );
    expect(runs).toBe(2);
    expect(await find('rye')).toEqual(keysOf([...first, ...second]));
  });

  test('delays merges until it ends', async () => {
    const [first, second] = [documentsOf(1, MANY, 'rye'), documentsOf(100, 1, 'rye')];
    await interrupt(
      (pause) =>
        transact(engine, async (trx) => {
          await engine.wordIndex.add(trx, first);
          await pause();
        }),
      async () => {
        await addOneByOne(second);
        await merge();
        expect(await countRows(engine.db, 'word_changes')).toBe(1);
      },
    );
    expect(await merge()).toBe(true);
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
    expect(await find('rye')).toEqual(keysOf([...first, ...second]));
  });
});

test('Removing an unmerged document leaves no trace of it', async () => {
  await engine.wordIndex.add(engine.db, [documentOf(1, 'rye')]);
  await engine.wordIndex.remove(engine.db, [documentOf(1, 'rye')]);
  expect(await countRows(engine.db, 'word_changes')).toBe(0);
  expect(await countRows(engine.db, 'word_blocks')).toBe(0);
});

test('Of two merges at the same time, one does nothing', async () => {
  const documents = documentsOf(1, MANY, 'rye');
  await addOneByOne(documents);
  const isMerged = await mergeDuring(async () => {
    await addOneByOne(documentsOf(100, 1, 'rye'));
    await merge();
    expect(await countRows(engine.db, 'word_changes')).toBe(MANY + 1);
  });
  expect(isMerged).toBe(true);
  expect(await countRows(engine.db, 'word_changes')).toBe(1);
});

describe('A search', () => {
  const common = documentsOf(1, 3_000, 'rye', 'bread');
  const changed = documentsOf(10_000, MANY, 'rye', 'bread');
  const expected = keysOf([...common.slice(MANY), ...changed]);

  beforeEach(async () => {
    await change((trx) => engine.wordIndex.add(trx, common));
    await addOneByOne(changed.slice(0, MANY / 2));
    for (const document of common.slice(0, MANY)) {
      await change((trx) => engine.wordIndex.remove(trx, [document]));
    }
    await addOneByOne(changed.slice(MANY / 2));
  });

  test('finds the same before, during and after a merge', async () => {
    expect(await find('rye')).toEqual(expected);
    const isMerged = await mergeDuring(async () => {
      expect(await find('rye')).toEqual(expected);
    });
    expect(isMerged).toBe(true);
    expect(await countRows(engine.db, 'word_changes')).toBe(0);
    expect(await find('rye')).toEqual(expected);
  });

  test('that began before a merge finds the same after it', async () => {
    const reader = engine.wordIndex.openReader(engine.db, []);
    expect(await findWord(reader, 'rye')).toEqual(expected);
    expect(await merge()).toBe(true);
    expect(await findWord(reader, 'bread')).toEqual(expected);
    expect(await findWord(reader, 'bre', true)).toEqual(expected);
  });
});

describe('With several writers and continuous merges,', () => {
  const WORDS = ['rye', 'oats', 'bread', 'oven', 'flour', 'water', 'salt', 'yeast'];
  const WRITERS = 4;
  const KEYS_PER_WRITER = 60;
  const RACE_MS = 4_000;
  /** Every version of these documents has this word. */
  const CONSTANT = 'bakery';

  /** Returns a document with random words. */
  const randomDocument = (random: RandomInteger, key: number, ...words: string[]) =>
    documentOf(key, ...words, ...WORDS.filter(() => random(3) === 0), `of-${key}`);

  /** Adds, removes and replaces documents with the keys of a writer, few or many at once. */
  async function write(writer: number, present: Map<number, IndexedDocument>, until: number) {
    const random = randomIntegers(writer);
    const first = writer * 1_000;
    while (performance.now() < until) {
      const keys = new Set<number>();
      const count = random(12) === 0 ? MANY + random(20) : 1 + random(3);
      while (keys.size < count) keys.add(first + random(KEYS_PER_WRITER));
      const removed = [...keys].flatMap((key) => present.get(key) ?? []);
      // Of the chosen documents that are present, a quarter is removed, and the others get other words.
      const added = [...keys]
        .filter((key) => random(4) > 0 || !present.has(key))
        .map((key) => randomDocument(random, key));
      const run = random(3) === 0 ? transact : transactOnIndex;
      await run(engine, async (trx) => {
        if (removed.length > 0) await engine.wordIndex.remove(trx, removed);
        if (added.length > 0) await engine.wordIndex.add(trx, added);
      });
      for (const { key } of removed) present.delete(key);
      for (const document of added) present.set(document.key, document);
    }
  }

  test('no change is lost, and documents that match at all times are always found', async () => {
    const present = new Map<number, IndexedDocument>();
    const constant = documentsOf(100_000, 30, CONSTANT);
    await addOneByOne(constant);
    const until = performance.now() + RACE_MS;
    const replaceConstant = async () => {
      const random = randomIntegers(99);
      while (performance.now() < until) {
        const i = random(constant.length);
        const { key } = constant[i] as IndexedDocument;
        const replaced = randomDocument(random, key, CONSTANT);
        await change(async (trx) => {
          await engine.wordIndex.remove(trx, [constant[i] as IndexedDocument]);
          await engine.wordIndex.add(trx, [replaced]);
        });
        constant[i] = replaced;
      }
    };
    let merges = 0;
    const mergeAll = async () => {
      while (performance.now() < until) {
        const before = await countRows(engine.db, 'word_changes');
        if ((await merge()) && before > 0) merges += 1;
        await sleep(5);
      }
    };
    const search = async () => {
      while (performance.now() < until) expect(await find(CONSTANT)).toEqual(keysOf(constant));
    };
    const writing = Array.from({ length: WRITERS }, (_, i) => write(i, present, until));
    await Promise.all([...writing, replaceConstant(), mergeAll(), search()]);
    expect(merges).toBeGreaterThan(5);

    for (const document of constant) present.set(document.key, document);
    const documents = [...present.values()].sort((a, b) => a.key - b.key);
    const counts = new Map<string, number>();
    for (const { words } of documents) {
      for (const word of words.all) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    for (let i = 0; i < 2; i += 1) {
      for (const word of [...WORDS, CONSTANT]) {
        const matches = documents.filter(({ words }) => words.all.includes(word));
        expect([word, await find(word)]).toEqual([word, keysOf(matches)]);
      }
      const terms: [string, number][] = [];
      for await (const { term, documents } of engine.wordIndex.terms(engine.db)) {
        terms.push([term, documents]);
      }
      expect(terms).toEqual([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
      expect(await merge()).toBe(true);
      expect(await countRows(engine.db, 'word_changes')).toBe(0);
    }
  });
});
