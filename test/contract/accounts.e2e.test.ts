import { expect, test } from 'vitest';
import { createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { TemporaryAccounts, useExistingAccount } from '../../verification/accounts.ts';
import { startApp } from '../support/app.ts';
import { createSpace } from '../support/spaces.ts';

/** Registers an account and deletes it, on a server that responds to the deletions with these statuses in turn. */
async function deleteWith({ deletions, login }: { deletions: number[]; login: number }) {
  const fetch = async (request: RequestInfo | URL) => {
    const { method, url } = request as Request;
    if (method === 'DELETE') return Response.json({}, { status: deletions.shift() ?? 500 });
    if (url.endsWith('/login')) return Response.json({}, { status: login });
    return Response.json({ user_id: 'u1', access_token: 'token' }, { status: 201 });
  };
  const accounts = new TemporaryAccounts((token = '') =>
    createClient(createConfig({ baseUrl: 'http://127.0.0.1:3000', auth: token, fetch })),
  );
  const { email } = await accounts.register();
  return { email, remaining: await accounts.deleteAll() };
}

test('reports a remaining account if its deletion fails and its password no longer works', async () => {
  const { email, remaining } = await deleteWith({ deletions: [500, 500], login: 401 });
  expect(remaining).toEqual([email]);
});

test('reports no remaining account if only the status of the response to its deletion is wrong', async () => {
  const { remaining } = await deleteWith({ deletions: [202, 401], login: 401 });
  expect(remaining).toEqual([]);
});

test('an existing account keeps all earlier spaces, however many it has, and no later one', async () => {
  await using app = await startApp();
  const user = await app.register();
  const paths = [];
  for (let i = 0; i < 102; i += 1) paths.push(await createSpace(user, { title: `Space ${i}` }));
  const { restore } = await useExistingAccount((token) => app.client(token), user, user.token);
  await createSpace(user, { title: 'Created by the check' });
  // Deletes later spaces, so that the oldest ones move from the second page of the list to the first.
  for (const path of paths.splice(90)) {
    await api.deleteSpace({ client: user.client, path, throwOnError: true });
  }
  expect(await restore()).toEqual([]);
  const remaining = await app.context.engine.db.selectFrom('spaces').select('space_id').execute();
  const ids = (spaces: { space_id: string }[]) => spaces.map(({ space_id }) => space_id).sort();
  expect(ids(remaining)).toEqual(ids(paths));
});
