import { register } from '../../support/client.ts';
import { type Server, startServer } from '../../support/server.ts';
import { median } from '../../support/statistics.ts';
import { alternate } from './alternate.ts';
import { copyData, type PerDatabase, waitUntilIdle } from './database.ts';
import type { Effort } from './effort.ts';
import { type Comparison, formatSpaces } from './report.ts';
import { createSpace, NO_QUOTAS } from './writing.ts';

/** Numbers of clients that create spaces at the same time, each with its own account. */
const CLIENT_COUNTS = [1, 4, 8];

/** Minimum length of a round. PostgreSQL needs a second to detect a deadlock, which would fill a shorter round. */
const MIN_SECONDS = 3;

/** Compares how many spaces per second clients create over HTTP. Each client sends one request after another. */
export async function measureCreation(
  locations: { sqlite: { dataDir: string }; postgresql: { dataDir: string; databaseUrl: string } },
  spaces: number,
  effort: Effort,
): Promise<Comparison> {
  await using copy = await copyData(locations.sqlite.dataDir);
  const { dataDir, databaseUrl } = locations.postgresql;
  await using sqlite = await startServer({ ...NO_QUOTAS, DATA_DIR: copy.dataDir });
  await using postgresql = await startServer({
    ...NO_QUOTAS,
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
  });
  const services: PerDatabase<Service> = {
    sqlite: await openService(sqlite, spaces),
    postgresql: await openService(postgresql, spaces),
  };
  for (const { child } of [sqlite, postgresql]) await waitUntilIdle(child);
  const rows: Comparison['rows'] = [];
  for (const clients of CLIENT_COUNTS) {
    const create = (service: Service) => () => createSpaces(service, clients, effort);
    const pairs = await alternate(
      effort.rounds,
      create(services.sqlite),
      create(services.postgresql),
    );
    rows.push({
      name: clients === 1 ? '1 client' : `${clients} clients`,
      values: [
        median(pairs.map(([own]) => own)),
        median(pairs.map(([, other]) => other)),
        median(pairs.map(([own, other]) => other / own)),
      ],
    });
  }
  for (const server of [sqlite, postgresql]) await server.stop();
  return {
    id: 'databases, creation',
    title: `Spaces created per second over HTTP at ${formatSpaces(spaces)} spaces, each commit synchronised to the disk`,
    columns: ['on SQLite', 'on PostgreSQL', 'PostgreSQL / SQLite'],
    rows,
  };
}

interface Service {
  server: Server;
  /** Access tokens, one for each client. */
  tokens: string[];
  /** The number of the next space to create. */
  next: number;
}

async function openService(server: Server, spaces: number): Promise<Service> {
  const names = Array.from(
    { length: Math.max(...CLIENT_COUNTS) },
    (_, i) => `creator${'abcdefgh'[i]}`,
  );
  const tokens = await Promise.all(
    names.map(async (name) => (await register(server.url, name)).token),
  );
  return { server, tokens, next: spaces };
}

/** Creates spaces with a number of clients. Returns the spaces created per second after the warm-up. */
async function createSpaces(
  service: Service,
  clients: number,
  { warmUp, duration }: Effort,
): Promise<number> {
  const seconds = Math.max(MIN_SECONDS, duration);
  const from = performance.now() + warmUp * 1000;
  const to = from + seconds * 1000;
  let created = 0;
  const write = async (token: string) => {
    for (let now = 0; now < to; ) {
      service.next += 1;
      await createSpace(service.server, token, service.next - 1);
      now = performance.now();
      if (now >= from && now < to) created += 1;
    }
  };
  await Promise.all(service.tokens.slice(0, clients).map(write));
  return created / seconds;
}
