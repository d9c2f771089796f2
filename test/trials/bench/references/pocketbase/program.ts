import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningProcess, startProcess } from '../../../../support/processes.ts';

const URL = 'http://127.0.0.1:8097';
const [EMAIL, PASSWORD] = ['bench@example.org', 'bench bench bench'];

interface PocketBase extends AsyncDisposable {
  url: string;
  /** The SQLite file. */
  database: string;
  serve(): Promise<RunningProcess>;
}

/**
 * Creates a PocketBase folder with collections, and turns its request log off.
 * @param program     the executable
 * @param collections as PocketBase's API accepts them
 */
export async function installPocketBase(
  program: string | undefined,
  collections: object[],
): Promise<PocketBase> {
  if (program === undefined) {
    console.error('Missing argument: the path of PocketBase. See test/trials/bench/README.md.');
    process.exit(1);
  }
  // The exit handler ends the servers. A signal alone does not run it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

  const folder = await mkdtemp(join(tmpdir(), 'pocketbase-'));
  const flags = ['--dir', join(folder, 'data'), '--dev=false', '--automigrate=false'];
  const child = spawn(program, ['superuser', 'upsert', EMAIL, PASSWORD, ...flags], {
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} exited with ${code}.`);
  const serve = () => start(program, flags);
  await using _ = await serve();
  const signedIn = await call('collections/_superusers/auth-with-password', {
    identity: EMAIL,
    password: PASSWORD,
  });
  const { token } = signedIn as { token: string };
  await call('settings', { logs: { maxDays: 0 } }, token, 'PATCH');
  for (const collection of collections) await call('collections', collection, token);
  return {
    url: URL,
    database: join(folder, 'data', 'data.db'),
    serve,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Sends a request to the API of the running PocketBase. */
export async function call(
  path: string,
  body: object,
  token = '',
  method: 'POST' | 'PATCH' = 'POST',
): Promise<unknown> {
  const response = await fetch(`${URL}/api/${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: token },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
  }
  return response.json();
}

export function text(name: string): object {
  return { name, type: 'text' };
}

export function number(name: string): object {
  return { name, type: 'number' };
}

/** @param collection the name of the collection that the field refers to */
export function relation(name: string, collection: string): object {
  return { name, type: 'relation', collectionId: collection, required: true, maxSelect: 1 };
}

async function start(program: string, flags: string[]): Promise<RunningProcess> {
  const address = URL.slice('http://'.length);
  const running = startProcess(program, ['serve', '--http', address, ...flags]);
  for (let i = 0; i < 100; i += 1) {
    const response = await fetch(`${URL}/api/health`).catch(() => undefined);
    if (response?.ok) return running;
    await sleep(100);
  }
  await running.kill();
  throw new Error(`PocketBase was not ready after 10 s:\n${running.output()}`);
}
