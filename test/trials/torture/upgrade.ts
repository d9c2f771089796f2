import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Migrator } from 'kysely/migration';
import * as api from '../../../generated/sdk.gen.ts';
import type { Location } from '../../../server/database/kind.ts';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { migrations } from '../../../server/database/postgresql/migrations/index.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { migrate } from '../../database/migrate.ts';
import { clientOf } from '../../support/client.ts';
import { startProgram } from '../../support/commands.ts';
import { assertIntact, databaseFile, withDatabase } from '../../support/integrity.ts';
import { freePort } from '../../support/ports.ts';
import { createDatabase, dropDatabase, execute, POSTGRESQL_URL } from '../../support/postgresql.ts';
import { startServer } from '../../support/server.ts';
import { assertRebuildMatches } from './soundness.ts';
import type { Trial } from './trial.ts';

/** The last migrations of earlier versions. PostgreSQL is supported since 0.2.0. */
const VERSIONS = {
  sqlite: {
    '0.1.0': '0001-initial',
    '0.2.0': '0009-username-keys',
    '0.3.0': '0018-event-clocks',
  },
  postgresql: { '0.2.0': '0004-username-keys', '0.3.0': '0019-suspensions' },
};

/** Lines of the log that begin parts of an upgrade. The service is killed once in each. */
const PARTS = [/migrating the database/, /(rebuilding the|building the copy of the) search index/];

/** Maximum time between the beginning of a part and the kill. */
const MAX_PART_MS = { quick: 100, full: 2_000 };

const SPACES = { quick: 2_000, full: 100_000 };

export const upgrade: Trial = {
  promise:
    'A database of each earlier version is upgraded without loss, also if the upgrade is killed in its migrations and in the rebuild of the search index.',
  runsOnPostgresql: true,
  async run(scale) {
    const url = process.env[POSTGRESQL_URL];
    const versions = Object.entries(url ? VERSIONS.postgresql : VERSIONS.sqlite);
    const results: string[] = [];
    for (const [version, lastMigration] of versions) {
      await using folder = await mkdtempDisposable(`${tmpdir()}/upgrade-`);
      await using database = await createOld(url, folder.path, lastMigration, SPACES[scale]);
      const { dataDir, databaseUrl } = database.location;
      const settings = { DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
      let kills = 0;
      for (const part of PARTS) {
        const delayMs = Math.random() * MAX_PART_MS[scale];
        if (await killIn(part, delayMs, settings)) kills += 1;
      }
      assert(kills > 0, 'the upgrade was faster than each kill');
      const seconds = await finishUpgrade(database.location, settings, SPACES[scale]);
      results.push(`${version} ready in ${seconds.toFixed(1)} s after ${kills} kills`);
    }
    return `${SPACES[scale]} spaces of ${results.join('; ')}`;
  },
};

/** Creates a database of an earlier version: three users, and spaces with a participant, a tag and a message. */
async function createOld(
  url: string | undefined,
  dataDir: string,
  lastMigration: string,
  spaces: number,
): Promise<AsyncDisposable & { location: Location }> {
  const statements = insertions(spaces, lastMigration === VERSIONS.sqlite['0.1.0']);
  if (!url) {
    const file = databaseFile(dataDir);
    await migrate(file, lastMigration);
    withDatabase(file, (sqlite) => sqlite.exec(statements.join(';\n')));
    return { location: { dataDir }, async [Symbol.asyncDispose]() {} };
  }
  const name = `upgrade ${randomUUID()}`;
  const databaseUrl = await createDatabase(url, name);
  const db = connect(openPool(databaseUrl));
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateTo(lastMigration);
  await db.destroy();
  if (error) throw error;
  for (const statement of statements) await execute(databaseUrl, statement);
  return {
    location: { dataDir, databaseUrl },
    [Symbol.asyncDispose]: () => dropDatabase(url, name),
  };
}

/** @param hasOldNames whether the columns have the names of 0.1.0 */
function insertions(spaces: number, hasOldNames: boolean): string[] {
  const [key, tagKey, creator, space, user, tag, author] = hasOldNames
    ? ['id', 'id', 'creator', 'space', 'user', 'tag', 'author']
    : ['pk', 'tag_id', 'creator_pk', 'space_pk', 'user_pk', 'tag_id', 'author_pk'];
  const numbers = (last: number) =>
    `WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${last})`;
  const time = "'2026-02-01T00:00:00.000Z'";
  return [
    `INSERT INTO users (user_id, username, username_key, username_skeleton, email, email_key, bio, is_verified, created_at, updated_at)
      ${numbers(3)} SELECT 'user' || i, 'user' || i, 'user' || i, 'user' || i, i || '@example.com', i || '@example.com', '', 0, ${time}, ${time} FROM numbers`,
    `INSERT INTO spaces (space_id, ${creator}, title, description, visibility, participant_count, created_at)
      ${numbers(spaces)} SELECT 'space' || i, 1 + i % 3, 'Lantern ' || i, 'Harbour ' || (i % 97), 'public', 1, ${time} FROM numbers`,
    `INSERT INTO participations (${space}, ${user}, joined_at) SELECT ${key}, ${creator}, ${time} FROM spaces`,
    `INSERT INTO tags (tag_key) VALUES ('tea')`,
    `INSERT INTO space_tags (${space}, ${tag}, position, tag_name) SELECT spaces.${key}, tags.${tagKey}, 0, 'tea' FROM spaces, tags`,
    `INSERT INTO messages (message_id, ${space}, ${author}, text, word_count, created_at)
      SELECT 'message' || ${key}, ${key}, ${creator}, 'Good morning', 2, ${time} FROM spaces`,
  ];
}

/** Starts the service, and kills it in a part of the upgrade. Returns false if the service has none, or was faster. */
async function killIn(part: RegExp, delayMs: number, settings: Record<string, string>) {
  const port = await freePort();
  await using service = startProgram('start', [], { ...settings, PORT: String(port) });
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!part.test(service.output())) {
    assert(service.isRunning(), service.output());
    if (await isReady()) return false;
    await sleep(5);
  }
  await sleep(delayMs);
  return !(await isReady());
}

/** Starts the service, and checks that nothing is missing. Returns the seconds until it was ready. */
async function finishUpgrade(
  location: Location,
  settings: Record<string, string>,
  spaces: number,
): Promise<number> {
  const startedAt = performance.now();
  let seconds: number;
  {
    await using server = await startServer(settings);
    seconds = (performance.now() - startedAt) / 1_000;
    const client = clientOf(server.url);
    for (const i of [1, Math.ceil(spaces / 2), spaces]) {
      const { data } = await api.searchSpaces({ client, query: { q: `lantern ${i}` } });
      assert.equal(data?.[0]?.space_id, `space${i}`);
      const query = { space_id: `space${i}` };
      const messages = await api.listMessages({ client, query });
      assert.deepEqual(
        messages.data?.items.map(({ text }) => text),
        ['Good morning'],
      );
    }
    const { data: tags } = await api.listTags({ client });
    assert.equal(tags?.items[0]?.space_count, spaces);
    assert.equal(await server.stop(), 0, server.output());
  }
  if (!location.databaseUrl) assertIntact(location.dataDir);
  await assertRebuildMatches(location);
  return seconds;
}
