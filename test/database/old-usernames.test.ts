import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { usernameKey, usernameSkeleton } from '../../server/text/username-keys.ts';
import { startApp } from '../support/app.ts';
import { completeCommand } from '../support/commands.ts';
import { getError } from '../support/errors.ts';
import { databaseFile } from '../support/integrity.ts';
import { migrate } from './migrate.ts';

/** Usernames with the skeletons that earlier versions stored. */
const OLD_USERS = [
  // Their new skeletons are exchanged, so no order of single updates is free of conflicts.
  ['foo', 'bar'],
  ['bar', 'foo'],
  ['ſun', 'sun'],
  ['fun', 'fun'],
  ['ада_', 'aдa_'],
  ['1דוד', 'lדוד'],
  ['admin-', 'admin-'],
  ['grace', 'grace'],
];

test('an upgrade keeps usernames that now look alike or break a rule, and lists them', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'old-usernames-'));
  try {
    await migrate(databaseFile(dataDir), '0007-removals');
    const sqlite = new Sqlite(databaseFile(dataDir));
    const insert = sqlite.prepare(
      `INSERT INTO users (user_id, username, username_key, username_skeleton, email, email_key, bio, is_verified,
         created_at, updated_at)
       VALUES ($id, $name, $key, $skeleton, $id || '@x.org', $id || '@x.org', '', 0, '2026', '2026')`,
    );
    for (const [i, [name = '', skeleton = '']] of OLD_USERS.entries()) {
      insert.run({ id: `u${i}`, name, key: usernameKey(name), skeleton });
    }
    sqlite.close();

    await using app = await startApp({ DATA_DIR: dataDir });
    const rows = await app.context.engine.db
      .selectFrom('users')
      .select(['username', 'username_skeleton as skeleton'])
      .orderBy('pk')
      .execute();
    expect(rows.map(({ username }) => username)).toEqual(OLD_USERS.map(([name]) => name));
    const distinct = rows.filter(
      ({ username, skeleton }) => skeleton !== usernameSkeleton(username),
    );
    expect(distinct).toEqual([{ username: 'ſun', skeleton: 'fun#u2' }]);

    const claim = (username: string) =>
      getError(
        api.register({
          client: app.client(),
          body: { username, email: 'new@x.org', password: 'correct horse battery' },
        }),
      );
    expect(await claim('Fun')).toBe('409 username_taken');
    await app.context.engine.db.deleteFrom('users').where('username', '=', 'fun').execute();
    // It still looks like `ſun`, whose stored skeleton has a suffix.
    expect(await claim('fun')).toBe('409 username_taken');

    const output = await completeCommand('check-usernames', [], { DATA_DIR: dataDir });
    expect(output.trim().split('\n')).toEqual([
      'u2 "ſun": It looks like another username.',
      expect.stringMatching(/^u4 "ада_": A username does not end with /),
      expect.stringMatching(/^u5 "1דוד": A right-to-left username begins with /),
      'u6 "admin-": It is reserved.',
      'Usernames from before the current rules: 4. They stay valid.',
    ]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
