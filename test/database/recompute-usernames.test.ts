import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { expectRecomputedKeys } from './recomputed-usernames.ts';

test('An upgrade recomputes the keys of usernames by the current rules', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'username-keys-'));
  const file = join(folder.path, 'users.sqlite');
  await using engine = await openSqlite(file, { runsMaintenance: false });
  await expectRecomputedKeys(engine);
});
