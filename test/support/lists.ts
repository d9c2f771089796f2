import * as api from '../../generated/sdk.gen.ts';
import { existingIds, openWorld } from '../../verification/world.ts';
import type { TestApp } from './app.ts';

/**
 * Creates a user who has several items in each list of the contract.
 * @returns the headers of the user's requests, and the values of parameters that select these lists
 */
export async function createLists({
  url,
}: TestApp): Promise<{ headers: Record<string, string>; values: Record<string, string> }> {
  const world = await openWorld(url);
  const client = world.client(world.creator.token);
  for (const name of ['Bot', 'Mirror']) {
    await api.createToken({ client, body: { name, scopes: ['read'] }, throwOnError: true });
  }
  const ids = Object.entries(existingIds).map(([name, idIn]) => [name, idIn(world)]);
  return {
    headers: { authorization: `Bearer ${world.creator.token}` },
    values: Object.fromEntries(ids),
  };
}
