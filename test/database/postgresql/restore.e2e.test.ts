import { existsSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import { startApp } from '../../support/app.ts';
import { completeCommand, runCommand } from '../../support/commands.ts';
import { createDatabase, startPostgresql } from '../../support/postgresql.ts';

test('Accounts that were deleted after a dump are deleted again from the restored database', async () => {
  await using server = await startPostgresql();
  await using folder = await mkdtempDisposable(join(tmpdir(), 'restore-'));
  const settings = { DATA_DIR: folder.path, DATABASE_URL: await server.createDatabase('original') };
  let token: string;
  {
    await using app = await startApp(settings);
    await app.register('ada');
    ({ token } = await app.register('bob'));
  }
  // Like pg_dump and pg_restore.
  const restored = await createDatabase(server.url, 'restored', 'original');
  {
    await using app = await startApp(settings);
    const { response } = await api.deleteAccount({ client: app.client(token) });
    expect(response?.status).toBe(200);
  }
  {
    // Maintenance writes the journal once a minute, first at the start.
    await using _ = await startApp(settings);
    await expect.poll(() => existsSync(join(folder.path, 'erased-accounts.txt'))).toBe(true);
  }
  const atRestored = { ...settings, DATABASE_URL: restored };
  expect((await runCommand('restore', ['a-dump'], atRestored)).stderr).toContain(
    'Use pg_restore to restore the database, and then this command with --deletions-only.',
  );
  const stdout = await completeCommand('restore', ['--deletions-only'], atRestored);
  expect(stdout).toBe('1 account deleted again.\n');
  await using app = await startApp(atRestored);
  const statusOfLogin = async (name: string) => {
    const body = { email: `${name}@example.com`, password: 'correct horse battery' };
    return (await api.login({ client: app.client(), body })).response?.status;
  };
  expect([await statusOfLogin('ada'), await statusOfLogin('bob')]).toEqual([200, 401]);
});
