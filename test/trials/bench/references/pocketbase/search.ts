import Sqlite from 'better-sqlite3';
import { startServer } from '../../../../support/server.ts';
import { median, quantile } from '../../../../support/statistics.ts';
import { alternate } from '../../alternate.ts';
import { spaceOf } from '../../data.ts';
import { buildDatabase, chunksOf, waitUntilIdle } from '../../database.ts';
import { countPaths, distribute, type LoadResult, startLoadGenerator } from '../../load.ts';
import { makeQueries, respellQuery, searchPath } from '../../queries.ts';
import { printComparison } from '../../report.ts';
import { installPocketBase, number, text } from './program.ts';

// Not part of `npm run bench`, because PocketBase is not on npm. See ../../README.md for its installation.
const [program, size = '100000'] = process.argv.slice(2);
/** Public, with the fields of a search result. */
const SPACES = {
  name: 'spaces',
  type: 'base',
  listRule: '',
  fields: [
    text('space_id'),
    text('title'),
    text('description'),
    number('participant_count'),
    { name: 'tags', type: 'json' },
  ],
  indexes: ['CREATE INDEX spaces_by_participants ON spaces (participant_count)'],
};

const spaces = Number(size);
/** In seconds. */
const [WARM_UP, DURATION] = [0.5, 1.5];

await using pocketBase = await installPocketBase(program, [SPACES]);
fill(pocketBase.database);

await using generator = await startLoadGenerator();
await using service = await startServer({ DATA_DIR: await buildDatabase(spaces) });
await waitUntilIdle(service.child);
await using _ = await pocketBase.serve();

const filter = (query: string) =>
  query
    .split(' ')
    .map((word) => `(title ~ "${word}" || description ~ "${word}")`)
    .join(' && ');
const forms = {
  'first 20 found': '&skipTotal=1',
  'with total (default)': '',
  'by participants': '&skipTotal=1&sort=-participant_count',
};
const classes = ['common word', 'rare word', 'two words', 'no match'] as const;
const rows = { alone: [] as Row[], 'under load': [] as Row[] };
type Row = { name: string; values: number[] };
for (const name of classes) {
  const queries = makeQueries(spaces)[name];
  // Each request is spelled differently, so that the service cannot return a cached response.
  const ours = (connections: number) => {
    const length = countPaths({ warmUp: WARM_UP, duration: DURATION }, connections);
    return Array.from({ length }, (_, i) =>
      searchPath(respellQuery(queries[i % queries.length] as string)),
    );
  };
  for (const [form, more] of Object.entries(forms)) {
    const theirs = queries.map(
      (query) =>
        `/api/collections/spaces/records?perPage=20&filter=${encodeURIComponent(filter(query))}${more}`,
    );
    for (const [kind, connections] of [
      ['alone', 1],
      ['under load', 10],
    ] as const) {
      const send = (to: string, paths: string[], mayRepeat: boolean) =>
        generator.send({
          url: to,
          paths: distribute(paths, connections),
          mayRepeat,
          warmUp: WARM_UP,
          duration: DURATION,
        });
      const pairs = await alternate(
        3,
        () => send(service.url, ours(connections), false),
        () => send(pocketBase.url, theirs, true),
      );
      const summarize = (results: LoadResult[]) =>
        kind === 'alone'
          ? median(results.map(({ latencies }) => quantile(latencies, 0.5)))
          : median(results.map(({ requestsPerSecond }) => requestsPerSecond));
      const own = summarize(pairs.map(([first]) => first));
      const reference = summarize(pairs.map(([, second]) => second));
      // How many times better the service is: less time, or more requests.
      const ratio = kind === 'alone' ? reference / own : own / reference;
      const values = [own, reference, ratio];
      rows[kind].push({ name: `${name}, ${form}`, values });
    }
  }
}
const columns = ['this service', 'PocketBase', 'ratio'];
printComparison({
  id: 'pocketbase',
  title: `Milliseconds over HTTP at ${spaces} spaces, one request at a time`,
  columns,
  rows: rows.alone,
});
printComparison({
  id: 'pocketbase',
  title: 'Requests per second, ten at a time',
  columns,
  rows: rows['under load'],
});

function fill(file: string): void {
  const database = Sqlite(file);
  const insert = database.prepare(
    `INSERT INTO spaces (id, space_id, title, description, participant_count, tags)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const numbers = Array.from({ length: spaces }, (_, i) => i);
  for (const chunk of chunksOf(numbers, 10_000)) {
    database.transaction(() => {
      for (const number of chunk) {
        const { space_id, title, description, participants, tags } = spaceOf(number);
        const id = `b${String(number).padStart(14, '0')}`;
        const count = participants.length + 1;
        insert.run(id, space_id, title, description, count, JSON.stringify(tags));
      }
    })();
  }
  database.exec('ANALYZE');
  database.close();
}
