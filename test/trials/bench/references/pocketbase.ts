import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { type RunningProcess, startProcess } from '../../../support/processes.ts';
import { startServer } from '../../../support/server.ts';
import { median, quantile } from '../../../support/statistics.ts';
import { alternate } from '../alternate.ts';
import { spaceOf } from '../data.ts';
import { buildDatabase, chunksOf, waitUntilIdle } from '../database.ts';
import { countPaths, distribute, type LoadResult, startLoadGenerator } from '../load.ts';
import { makeQueries, respellQuery, searchPath } from '../queries.ts';
import { printComparison } from '../report.ts';

// Not part of `npm run bench`, because PocketBase is not on npm. See ../README.md for its installation.
const [program = '', size = '100000'] = process.argv.slice(2);
if (program === '') {
  console.error('Usage: npx node test/trials/bench/references/pocketbase.ts PROGRAM [SPACES]');
  process.exit(1);
}
const spaces = Number(size);
const url = 'http://127.0.0.1:8097';
/** In seconds. */
const [WARM_UP, DURATION] = [0.5, 1.5];
const [email, password] = ['bench@example.org', 'bench bench bench'];

// The exit handler ends the servers. A signal alone does not run it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

await using cleanup = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), 'pocketbase-'));
cleanup.defer(() => rm(folder, { recursive: true }));
const flags = ['--dir', join(folder, 'data'), '--dev=false', '--automigrate=false'];
await run('superuser', 'upsert', email, password);
await createCollection();
fill();

await using generator = await startLoadGenerator();
await using service = await startServer({ DATA_DIR: await buildDatabase(spaces) });
await waitUntilIdle(service.child);
await using _ = await serve();

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
        () => send(url, theirs, true),
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

async function run(...command: string[]): Promise<void> {
  const child = spawn(program, [...command, ...flags], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ${command[0]} exited with ${code}.`);
}

async function serve(): Promise<RunningProcess> {
  const address = url.slice('http://'.length);
  const running = startProcess(program, ['serve', '--http', address, ...flags]);
  for (let i = 0; i < 100; i += 1) {
    const response = await fetch(`${url}/api/health`).catch(() => undefined);
    if (response?.ok) return running;
    await sleep(100);
  }
  await running.kill();
  throw new Error(`PocketBase was not ready after 10 s:\n${running.output()}`);
}

/** Creates a public collection with the fields of a search result, and turns the request log off. */
async function createCollection(): Promise<void> {
  await using _ = await serve();
  const signedIn = await call('POST', 'collections/_superusers/auth-with-password', {
    identity: email,
    password,
  });
  const { token } = signedIn as { token: string };
  await call('PATCH', 'settings', { logs: { maxDays: 0 } }, token);
  const text = (name: string) => ({ name, type: 'text' });
  await call(
    'POST',
    'collections',
    {
      name: 'spaces',
      type: 'base',
      listRule: '',
      fields: [
        text('space_id'),
        text('title'),
        text('description'),
        { name: 'participant_count', type: 'number' },
        { name: 'tags', type: 'json' },
      ],
      indexes: ['CREATE INDEX spaces_by_participants ON spaces (participant_count)'],
    },
    token,
  );
}

async function call(method: string, path: string, body: object, token = ''): Promise<unknown> {
  const response = await fetch(`${url}/api/${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: token },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
  }
  return response.json();
}

function fill(): void {
  const database = Sqlite(join(folder, 'data', 'data.db'));
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
