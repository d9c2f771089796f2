import { expect, test } from 'vitest';
import { searchPath, tagPath } from '../../bench/queries.ts';
import { comparePages, itemsOf } from '../../conformance/pages.ts';
import {
  fuzzedQueries,
  fuzzedTags,
  handwrittenQueries,
  handwrittenTags,
} from '../../conformance/queries.ts';
import { spacesToSearch } from '../../conformance/records.ts';
import { startServices } from '../../conformance/services.ts';
import { startPostgresql } from '../../support/postgresql.ts';

// The short form of `test/conformance/`, for every run of `npm test`.
test('Both kinds of databases return the same search results', async () => {
  await using server = await startPostgresql();
  const records = spacesToSearch(300, new Date());
  await using services = await startServices(records, {
    DATABASE_URL: await server.createDatabase('responses'),
  });
  const spaces = records.filter((record) => record.type === 'space');
  const queries = [...handwrittenQueries(), ...fuzzedQueries(spaces, 100, 21)];
  const tags = [...handwrittenTags(), ...fuzzedTags(spaces, 50, 22)];
  const paths = [...queries.map((query) => searchPath(query)), ...tags.map((tag) => tagPath(tag))];
  let found = 0;
  for (const path of paths) {
    if (itemsOf(await comparePages(services, path)).length > 0) found += 1;
  }
  expect(found).toBeGreaterThan(paths.length / 2);
});
