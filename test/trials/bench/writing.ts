import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, startServer } from '../../support/server.ts';
import { median, quantile } from '../../support/statistics.ts';
import { spaceOf, writers } from './data.ts';
import { copyData } from './database.ts';
import type { Effort } from './effort.ts';
import { countPaths, startLoadGenerator } from './load.ts';
import { signIn } from './profile.ts';
import { newQueries, searchPath } from './queries.ts';
import type { Comparison } from './report.ts';

const WRITES_PER_SECOND = 50;

/** Settings with which no quota rejects a space. */
export const NO_QUOTAS = {
  MAX_SPACES: '1000000000',
  MAX_PARTICIPATIONS: '1000000000',
  MAX_TAGS: '1000000000',
};

/** Times searches alone and while spaces are created, which is the most expensive write for the search index. */
export async function measureWriting(
  dataDir: string,
  spaces: number,
  { rounds, warmUp, duration }: Effort,
): Promise<Comparison> {
  await using copy = await copyData(dataDir);
  await using server = await startServer({ ...NO_QUOTAS, DATA_DIR: copy.dataDir });
  await using generator = await startLoadGenerator();
  const token = await signIn(server, (writers[0] as { email: string }).email);
  const queries = newQueries(spaces, 10);
  const rows = { alone: [] as Float64Array[], writing: [] as Float64Array[] };
  let written = 0;
  for (let i = 0; i < rounds; i += 1) {
    for (const kind of ['alone', 'writing'] as const) {
      // New queries, so that no response is cached.
      const length = countPaths({ warmUp, duration }, 1);
      const paths = Array.from({ length }, () => searchPath(queries.next().value));
      const writing = kind === 'writing' ? startWriting(server, token, spaces + i * 10_000) : null;
      const { latencies } = await generator.send({
        url: server.url,
        paths: [paths],
        warmUp,
        duration,
      });
      rows[kind].push(latencies);
      written += (await writing?.stop()) ?? 0;
    }
  }
  const of = (kind: 'alone' | 'writing', part: number) =>
    median(rows[kind].map((latencies) => quantile(latencies, part)));
  return {
    id: 'writing',
    title: `Search over HTTP while ${WRITES_PER_SECOND} spaces a second are created (${written} in all), milliseconds`,
    columns: ['alone', 'while writing', 'ratio'],
    rows: [
      ['median', 0.5],
      ['p99', 0.99],
      ['p99.9', 0.999],
    ].map(([name, part]) => {
      const [alone, writing] = [of('alone', part as number), of('writing', part as number)];
      return { name: name as string, values: [alone, writing, writing / alone] };
    }),
  };
}

function startWriting(server: Server, token: string, firstSpace: number) {
  let isStopping = false;
  let written = 0;
  const write = () => {
    written += 1;
    return createSpace(server, token, firstSpace + written - 1);
  };
  const startedAt = performance.now();
  const running = (async () => {
    const pending: Promise<void>[] = [];
    while (!isStopping) {
      const due = ((performance.now() - startedAt) / 1000) * WRITES_PER_SECOND;
      while (written < due) {
        const writing = write();
        // Awaited at the end, which can be long after it has failed.
        writing.catch(() => {});
        pending.push(writing);
      }
      await sleep(5);
    }
    await Promise.all(pending);
    return written;
  })();
  // Awaited by `stop`, which is not called if the searches fail.
  running.catch(() => {});
  return {
    stop() {
      isStopping = true;
      return running;
    },
  };
}

/** Creates a space with the texts and tags of the space with this number. */
export async function createSpace({ url }: Server, token: string, number: number): Promise<void> {
  const { title, description, tags } = spaceOf(number);
  const response = await fetch(`${url}/api/spaces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ title, description, visibility: 'public', tags }),
  });
  if (response.status !== 201) throw new Error(`Creating a space returned ${response.status}.`);
  await response.arrayBuffer();
}
