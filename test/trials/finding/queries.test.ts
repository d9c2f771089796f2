import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HALVES, readQueries } from './queries.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-service-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

const MORE_QUERIES = fileURLToPath(new URL('more-queries.yaml', import.meta.url));

test.each([
  { queries: readQueries(), maxDifference: 1 },
  { queries: readQueries(MORE_QUERIES), maxDifference: 0 },
])('Each class of queries is divided equally between the halves', ({ queries, maxDifference }) => {
  for (const members of Map.groupBy(queries, (query) => query.class).values()) {
    const [tuned = 0, judged = 0] = HALVES.map(
      (half) => members.filter((query) => query.half === half).length,
    );
    expect(Math.abs(tuned - judged)).toBeLessThanOrEqual(maxDifference);
  }
});

test('A malformed query is rejected', async () => {
  const file = join(folder, 'malformed.yaml');
  await writeFile(file, 'typo:\n  both:\n    recat: [react]\n');
  expect(() => readQueries(file)).toThrow(/Malformed query in class typo, both: recat/);
});

test('A duplicate query is rejected', async () => {
  const file = join(folder, 'twice.yaml');
  await writeFile(file, 'typo:\n  tune:\n    recat: [react]\n  judge:\n    recat: [react]\n');
  expect(() => readQueries(file)).toThrow(/recat appears twice/);
});
