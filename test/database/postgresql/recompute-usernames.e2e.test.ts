import { test } from 'vitest';
import { openPostgresql } from '../../../server/database/postgresql/engine.ts';
import { startPostgresql } from '../../support/postgresql.ts';
import { expectRecomputedKeys } from '../recomputed-usernames.ts';

test('an upgrade recomputes the keys of usernames with an iota subscript, except a taken key, and makes a taken skeleton distinct', async () => {
  await using server = await startPostgresql();
  const url = await server.createDatabase('users');
  await using engine = await openPostgresql(url, { runsMaintenance: false });
  await expectRecomputedKeys(engine);
});
