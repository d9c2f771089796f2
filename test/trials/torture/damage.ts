import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { cp, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as api from '../../../generated/sdk.gen.ts';
import { clientOf, register, type TestUser } from '../../support/client.ts';
import { runCommand } from '../../support/commands.ts';
import { databaseFile, withDatabase } from '../../support/integrity.ts';
import { startServer } from '../../support/server.ts';
import { createSpace, spaceCreation } from '../../support/spaces.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Trial } from './trial.ts';

const PAGE_BYTES = 4_096;
const SPACES = 100;
const METRICS_TOKEN = 'secret';

/** What a disk may return instead of a page. */
const CONTENTS = [
  () => randomBytes(PAGE_BYTES),
  () => Buffer.alloc(PAGE_BYTES),
  () => Buffer.alloc(PAGE_BYTES, 0xff),
];

export const damage: Trial = {
  promise:
    'An overwritten page of the database is harmless, repaired or reported, and loses no acknowledged write that it did not contain.',
  runsOnPostgresql: false,
  async run(scale) {
    await using intact = await mkdtempDisposable(join(tmpdir(), 'intact-'));
    const user = await prepare(intact.path);
    const outcomes: Record<string, number> = {};
    for (let attempt = 0; attempt < (scale === 'full' ? 200 : 4); attempt += 1) {
      const outcome = await overwritePage(intact.path, user, attempt);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    return Object.entries(outcomes)
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(', ');
  },
};

async function prepare(dataDir: string): Promise<TestUser> {
  await using server = await startServer({ DATA_DIR: dataDir });
  const user = await register(server.url, 'ada');
  for (let i = 0; i < SPACES; i += 1) {
    await createSpace(user, { title: `Tea house ${i}`, tags: ['tea', `tag${i}`] });
  }
  assert.equal(await server.stop(), 0);
  return user;
}

/** Overwrites a page while the service writes. Returns what has become of it. */
async function overwritePage(intact: string, { token }: TestUser, attempt: number) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'damaged-'));
  await cp(intact, folder.path, { recursive: true });
  const file = databaseFile(folder.path);
  const read = (pragma: string) =>
    withDatabase(file, (sqlite) => sqlite.pragma(pragma, { simple: true })) as number;
  const version = read('schema_version');
  // The first page has the header, without which SQLite does not open the file.
  const page = randomInt(2, read('page_count') + 1);
  const content = join(folder.path, 'content');
  await writeFile(content, (CONTENTS[attempt % CONTENTS.length] as () => Buffer)());

  await using server = await startServer({ DATA_DIR: folder.path, METRICS_TOKEN });
  const client = clientOf(server.url, token);
  const acknowledged: string[] = [];
  const statuses = new Set<number | undefined>();
  const use = async () => {
    const search = await api.searchSpaces({ client, query: { q: 'tea', limit: 100 } });
    const tags = await api.listTags({ client });
    const created = await api.createSpace({ client, body: spaceCreation({ title: 'Later' }) });
    if (created.data) acknowledged.push(created.data.space_id);
    for (const { response } of [search, tags, created]) statuses.add(response?.status);
    return search.data?.length;
  };
  for (let i = 0; i < 10; i += 1) await use();
  // Another process, because this one would release locks of SQLite. See `data-files.ts`.
  const dd = [`if=${content}`, `of=${file}`, `bs=${PAGE_BYTES}`, `seek=${page - 1}`];
  await promisify(execFile)('dd', [...dd, 'conv=notrunc', 'status=none']);
  for (let i = 0; i < 20; i += 1) await use();
  await sleep(200);

  const { code, stdout, stderr } = await runCommand('check-database', [], {
    DATA_DIR: folder.path,
  });
  const context = `page ${page}: ${[...statuses].join(', ')}\n${stdout}\n${stderr}\n${server.output()}`;
  assert(!statuses.has(500), context);
  if (code !== 0) {
    assert.match(stdout, /restore the last good backup|Run compact/, context);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 503, context);
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const metrics = await (await fetch(`${server.url}/metrics`, { headers })).text();
    assert.match(metrics, /space_service_resource_unavailable\{resource="database".*\} 1/, context);
    return 'reported';
  }
  await waitUntil('searches find the spaces', async () => (await use()) === 100);
  withDatabase(file, (sqlite) => {
    const find = sqlite.prepare('SELECT 1 FROM spaces WHERE space_id = ?');
    const lost = acknowledged.filter((id) => find.get(id) === undefined);
    assert.deepEqual(lost, [], context);
  });
  return read('schema_version') === version ? 'harmless' : 'repaired';
}
