import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Server, startServer } from '../../../support/server.ts';

/** A response of the service. */
export interface CachedResponse {
  body: string;
  /** Only those that depend on the query. The hooks of the application set the others. */
  headers: Record<string, string>;
}

/** Starts the service with one more route, `/constant/{number}`, which returns these responses from memory. */
export async function startConstantRoute(responses: readonly CachedResponse[]): Promise<Server> {
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'space-service-constant-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'responses.json');
  await writeFile(file, JSON.stringify(responses));
  const script = fileURLToPath(new URL('constant-process.ts', import.meta.url));
  const server = started.use(await startServer({ DATA_DIR: folder, RESPONSES: file }, [], script));
  const owned = started.move();
  return { ...server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
