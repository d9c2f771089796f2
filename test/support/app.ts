import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import { buildApp } from '../../server/app.ts';
import { readConfig } from '../../server/config.ts';
import { type Context, openContext } from '../../server/context.ts';
import type { Engine } from '../../server/database/engine.ts';
import { TIME_LIMITS, type TimeLimits } from '../../server/http/time-limits.ts';
import { registerWith, type TestUser } from './client.ts';
import { validatedFetch } from './contract.ts';
import { createTestDatabase, writeEmptyDatabase } from './databases.ts';
import { INSTANCE } from './metrics.ts';
import { freePort } from './ports.ts';
import { errorLog } from './recent.ts';

/** A running application with its own database, and clients for it. */
export interface TestApp extends AsyncDisposable {
  url: string;
  app: FastifyInstance;
  context: Context;
  /** Calls `fetch` on a path of the application and validates the exchange against the contract. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Returns a generated client that sends the token, if any, and validates every exchange against the contract. */
  client(token?: string): Client;
  /** Registers a new account. */
  register(username?: string): Promise<TestUser>;
}

/** Parts of the application that a test replaces. */
export interface Overrides {
  limits?: Partial<TimeLimits>;
  log?: FastifyBaseLogger;
  engine?: (real: Engine) => Engine;
  /**
   * Whether maintenance runs. By default, it does, unless `sharesDataOf` is set. Without maintenance, a deletion
   * that needs several transactions stops after the first one.
   */
  runsMaintenance?: boolean;
  /** Another application whose data this one uses, like two processes of a service. */
  sharesDataOf?: TestApp;
}

/**
 * Starts an application with an empty database in a temporary folder.
 * @param settings environment variables; in tests, RATE_LIMITS is off by default
 */
export async function startApp(
  settings: Record<string, string> = {},
  {
    limits,
    log = errorLog,
    engine = (real) => real,
    sharesDataOf,
    runsMaintenance = sharesDataOf === undefined,
  }: Overrides = {},
): Promise<TestApp> {
  await using started = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-test-'));
  started.defer(() => rm(dataDir, { recursive: true }));
  const port = await freePort();
  const database = started.use(await createTestDatabase());
  const config = readConfig({
    ...database.settings,
    DATA_DIR: dataDir,
    PORT: String(port),
    RATE_LIMITS: 'off',
    DRAIN_SECONDS: '0',
    INSTANCE,
    ...(sharesDataOf && dataSettings(sharesDataOf)),
    ...settings,
  });
  if (!config.databaseUrl && config.dataDir === dataDir) await writeEmptyDatabase(dataDir);
  const opened = started.use(
    await openContext(config, log, { runsMaintenance, mail: { timing: { wakeDelayMs: 10 } } }),
  );
  const context = { ...opened, engine: engine(opened.engine) };
  // Load shedding has its own tests. Here, it would make tests fail on a busy machine.
  const app = await buildApp(context, { ...TIME_LIMITS, ...limits });
  started.defer(() => app.close());
  await app.listen({ host: config.host, port });

  const url = `http://127.0.0.1:${port}`;
  const client = (token?: string) =>
    createClient(
      createConfig({ baseUrl: url, fetch: validatedFetch, ...(token && { auth: token }) }),
    );
  let registeredUsers = 0;
  // Everything has started. From now on, disposing of the application ends it.
  const owned = started.move();

  return {
    url,
    app,
    context,
    client,
    fetch: (path, init) => validatedFetch(url + path, init),
    register: (username = `user${++registeredUsers}`) => registerWith(client, username),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns the settings of another application that uses the same data. */
export function dataSettings({ context }: TestApp): Record<string, string> {
  const { dataDir, databaseUrl } = context.config;
  return { DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
}
