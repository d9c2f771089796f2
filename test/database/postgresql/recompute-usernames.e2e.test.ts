import { test } from 'vitest';
import { openPostgresql } from '../../../server/database/postgresql/engine.ts';
import { startPostgresql } from '../../support/postgresql.ts';
import { expectRecomputedKeys } from '../recomputed-usernames.ts';

test('An upgrade recomputes the keys of usernames by the current rules', async () => {
  await using server = await startPostgresql();
  const url = await server.createDatabase('users');
  await using engine = await openPostgresql(url, { runsMaintenance: false });
  await expectRecomputedKeys(engine);
});
