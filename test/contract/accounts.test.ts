import { expect, test } from 'vitest';
import { createClient, createConfig } from '../../generated/client/index.ts';
import { TemporaryAccounts } from '../../verification/accounts.ts';

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

test('an account remains if its deletion fails, and a request under test has changed its password', async () => {
  const { email, remaining } = await deleteWith({ deletions: [500, 500], login: 401 });
  expect(remaining).toEqual([email]);
});

test('an account does not remain if the response to its deletion has the wrong status', async () => {
  const { remaining } = await deleteWith({ deletions: [202, 401], login: 401 });
  expect(remaining).toEqual([]);
});
