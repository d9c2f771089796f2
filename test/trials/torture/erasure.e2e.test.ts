import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startApp } from '../../support/app.ts';
import { databaseFile, withDatabase } from '../../support/integrity.ts';
import { columnsOf, tablesOf } from '../../support/tables.ts';
import { openCanaries } from './canaries.ts';
import {
  addGeneratedCanaries,
  importAccount,
  isTooShort,
  useAccount,
  withoutCanary,
} from './erasure/account.ts';

test('the erasure trial writes a canary of the deleted account to every text column', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'canaries-'));
  const canaries = openCanaries();
  try {
    await importAccount(dataDir, canaries, 20);
    await using app = await startApp({ DATA_DIR: dataDir });
    await useAccount(app.url, canaries);
    addGeneratedCanaries(dataDir, canaries);

    const unmarked = withDatabase(databaseFile(dataDir), (sqlite) =>
      tablesOf('stored').flatMap((table) =>
        columnsOf(sqlite, table)
          .filter(({ name, type }) => type === 'TEXT' && !isTooShort(table, name))
          .filter(({ name }) => {
            const values = sqlite.prepare(`SELECT DISTINCT ${name} FROM ${table}`).pluck().all();
            return !values.some((value) => canaries.occurIn(String(value)));
          })
          .map(({ name }) => `${table}.${name}`),
      ),
    );
    const justified = Object.values(withoutCanary).flat();
    expect(
      unmarked.filter((column) => !justified.includes(column)),
      'these columns have no canary: write one in importAccount or useAccount (test/trials/torture/erasure/account.ts), ' +
        'or list the column in withoutCanary there with the reason',
    ).toEqual([]);
    expect(
      justified.filter((column) => !unmarked.includes(column)),
      'withoutCanary in test/trials/torture/erasure/account.ts lists these columns without need',
    ).toEqual([]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
