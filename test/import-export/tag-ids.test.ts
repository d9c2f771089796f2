import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { startApp } from '../support/app.ts';
import { toLines } from '../support/ndjson.ts';
import { createSpace } from '../support/spaces.ts';
import { type EmptyDatabases, exportLines, prepareDatabases } from './databases.ts';
import { ada, bread } from './records.ts';

let databases: EmptyDatabases;
beforeAll(async () => {
  databases = await prepareDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

describe('tag ids', () => {
  /** Returns the tags of each space, as the export contains them: `7 baking, 12 Sourdough`. */
  const exportedTags = async (engine: Engine) => {
    const records = (await exportLines(engine)).map((line) => JSON.parse(line));
    const spaces = records.filter(({ type }) => type === 'space');
    return Object.fromEntries(
      spaces.map(({ space_id, tags, tag_ids }) => [
        space_id,
        tags.map((name: string, i: number) => `${tag_ids[i]} ${name}`).join(', '),
      ]),
    );
  };
  const withTags = (space_id: string, tags: string[], tag_ids?: number[]) => ({
    ...bread,
    space_id,
    tags,
    tag_ids,
  });

  test('stay the same when an export is imported into an empty database', async () => {
    await using first = await databases.open();
    const spaces = [withTags('s', ['Rye', 'Baking'], [40, 7]), withTags('t', ['BAKING'], [7])];
    await importRecords(first, toLines([ada, ...spaces]));
    const lines = await exportLines(first);
    await using second = await databases.open();
    await importRecords(second, toLines(lines));
    expect(await exportedTags(second)).toEqual({ s: '40 Rye, 7 Baking', t: '7 BAKING' });
    expect(await exportLines(second)).toEqual(lines);
  });

  test('of existing tags stay the same', async () => {
    await using engine = await databases.open();
    await importRecords(engine, toLines([ada, withTags('s', ['baking'], [7])]));
    await importRecords(engine, toLines([withTags('t', ['#Baking'], [9])]));
    expect(await exportedTags(engine)).toEqual({ s: '7 baking', t: '7 Baking' });
  });

  test('are replaced with free ones if other tags have them', async () => {
    await using engine = await databases.open();
    await importRecords(engine, toLines([ada, withTags('s', ['baking'], [7])]));
    await importRecords(engine, toLines([withTags('t', ['rye', 'oats'], [7, 3])]));
    expect(await exportedTags(engine)).toEqual({
      s: '7 baking',
      t: expect.stringMatching(/^(?!7 |3 )[1-9]\d* rye, 3 oats$/),
    });
  });

  test('are assigned to tags without one', async () => {
    await using engine = await databases.open();
    await importRecords(engine, toLines([ada, withTags('s', ['baking', 'rye'])]));
    await importRecords(engine, toLines([withTags('t', ['oats'])]));
    expect(await exportedTags(engine)).toEqual({ s: '1 baking, 2 rye', t: '3 oats' });
  });

  test('belong to the first of equal tags', async () => {
    await using engine = await databases.open();
    await importRecords(engine, toLines([ada, withTags('s', ['rye', 'Rye', 'oats'], [5, 6, 7])]));
    expect(await exportedTags(engine)).toEqual({ s: '5 rye, 7 oats' });
  });

  test('are assigned in the order of the spaces', async () => {
    const spaces = [
      withTags('s', ['rye', 'oats']),
      // 2 belongs to oats by now.
      withTags('t', ['spelt', 'wheat'], [2, 10]),
      withTags('u', ['barley', 'rye']),
      withTags('v', ['millet'], [11]),
    ];
    await using engine = await databases.open();
    await importRecords(engine, toLines([ada, ...spaces]));
    expect(await exportedTags(engine)).toEqual({
      s: '1 rye, 2 oats',
      t: '11 spelt, 10 wheat',
      u: '12 barley, 1 rye',
      v: '13 millet',
    });
  });

  test('that an import sets are not assigned again, not even the first one', async () => {
    await using engine = await databases.open();
    await importRecords(engine, toLines([ada, withTags('s', ['baking'], [1])]));
    await importRecords(engine, toLines([withTags('t', ['oats'])]));
    expect(await exportedTags(engine)).toEqual({ s: '1 baking', t: '2 oats' });
  });

  test('in an export do not prevent its import, even if they are too large to be kept', async () => {
    await using first = await databases.open();
    await importRecords(first, toLines([ada, withTags('s', ['baking'], [2 ** 52])]));
    await importRecords(first, toLines([withTags('t', ['oats'])]));
    await using second = await databases.open();
    await importRecords(second, toLines(await exportLines(first)));
    // The import ignores the id of oats, because it is greater than 2 ** 52. The next free id happens to be equal.
    expect(await exportedTags(second)).toEqual({
      s: `${2 ** 52} baking`,
      t: `${2 ** 52 + 1} oats`,
    });
  });

  test('leave ids for the tags that users add later', async () => {
    await using target = await startApp();
    const { engine } = target.context;
    await importRecords(engine, toLines([ada, withTags('s', ['baking'], [2 ** 52])]));
    const space = await createSpace(await target.register(), { tags: ['rye', 'baking'] });
    const [rye, baking] = space.tags.map(({ tag_id }) => tag_id);
    expect(baking).toBe(2 ** 52);
    expect(rye).toBeGreaterThan(2 ** 52);
    expect(Number.isSafeInteger(rye)).toBe(true);
  });
});
