import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { compactFile } from '../../server/database/sqlite/compact.ts';
import { readSnapshot } from '../../server/database/transaction.ts';
import { OperatorError } from '../../server/errors.ts';
import { insertUser, usernames } from './users.ts';

let dataDir: string;
let file: string;
let engine: Engine;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'files-'));
  file = join(dataDir, 'space-service.sqlite');
  engine = await openDatabase({ dataDir }, { runsMaintenance: false });
});
afterEach(async () => {
  await engine.close();
  await rm(dataDir, { recursive: true });
});

describe('compactFile', () => {
  test('removes deleted content from the file and its write-ahead log, and keeps the rest', async () => {
    await insertUser(engine.db, 'ada');
    await insertUser(engine.db, 'deleted-canary');
    await engine.db.deleteFrom('users').where('username', '=', 'deleted-canary').execute();
    expect(await readFile(`${file}-wal`, 'latin1')).toContain('deleted-canary');
    await compactFile(file);
    expect((await stat(`${file}-wal`)).size).toBe(0);
    expect(await readFile(file, 'latin1')).not.toContain('deleted-canary');
    expect(await usernames(engine.db)).toEqual(['ada']);
  });

  test('fails while a reader still needs the write-ahead log', async () => {
    await insertUser(engine.db, 'ada');
    await readSnapshot(engine.db, async (snapshot) => {
      expect(await usernames(snapshot)).toEqual(['ada']);
      await expect(compactFile(file, 100)).rejects.toThrow(OperatorError);
    });
    await compactFile(file);
    expect(await usernames(engine.db)).toEqual(['ada']);
  });
});
