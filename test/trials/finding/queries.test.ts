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

const classes = Map.groupBy(readQueries(), (query) => query.class);

test.each([...classes])('The queries alternate between the halves: %s', (_, queries) => {
  expect(queries.map(({ half }) => half)).toEqual(queries.map((_, i) => HALVES[i % 2]));
});

test('The queries of more authors are divided equally between the halves', () => {
  const more = readQueries(fileURLToPath(new URL('more-queries.yaml', import.meta.url)));
  for (const queries of Map.groupBy(more, (query) => query.class).values()) {
    const tuned = queries.filter(({ half }) => half === 'tune');
    expect(tuned).toHaveLength(queries.length / 2);
  }
});

test('A malformed query is rejected', async () => {
  const file = join(folder, 'malformed.yaml');
  await writeFile(file, 'typo:\n  - query: recat\n    half: both\n    answers: [react]\n');
  expect(() => readQueries(file)).toThrow(/Malformed query in class typo/);
});

test('A duplicate query is rejected', async () => {
  const file = join(folder, 'twice.yaml');
  const query = '  - query: recat\n    half: tune\n    answers: [react]\n';
  await writeFile(file, `typo:\n${query}${query}`);
  expect(() => readQueries(file)).toThrow(/recat appears twice/);
});
