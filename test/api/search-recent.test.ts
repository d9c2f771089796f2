import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { type Server, startServer } from '../support/server.ts';

/**
 * Pages that are asked for again come from memory, in each process from its own. These tests ask two processes on
 * one database in turn, so that each must notice what the other has written.
 */

let server: Server;
beforeAll(async () => {
  server = await startServer({ WORKERS: '2' });
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

const at = (token?: string) =>
  createClient(createConfig({ baseUrl: server.url, ...(token && { auth: token }) }));
const register = async (username: string) => {
  const body = { username, email: `${username}@example.com`, password: 'correct horse battery' };
  const { data } = await api.register({ client: at(), body, throwOnError: true });
  return at(data.access_token);
};

/** One answer on a connection of its own, so that any worker may get it. */
const get = (path: string) =>
  new Promise<SearchResult[]>((resolve, reject) => {
    request(server.url + path, { agent: new Agent() }, async (response) => {
      resolve(JSON.parse((await response.setEncoding('utf8').toArray()).join('')));
    })
      .on('error', reject)
      .end();
  });

/** What the workers answer: so often that each of them is hardly ever left out. */
const everywhere = async (path: string) => {
  const answers: SearchResult[][] = [];
  for (let i = 0; i < 8; i += 1) answers.push(await get(path));
  return answers;
};

describe('The very next search in every process', () => {
  let ann: Awaited<ReturnType<typeof register>>;
  let ben: Awaited<ReturnType<typeof register>>;
  let space: Space;
  const paths = ['/api/spaces/search?q=lighthouse', '/api/spaces/tag/beacon'];
  const expectEverywhere = async (expected: object[]) => {
    for (const path of paths) {
      for (const results of await everywhere(path)) expect(results).toMatchObject(expected);
    }
  };

  beforeAll(async () => {
    ann = await register('ann');
    ben = await register('ben');
  });

  test('sees that a space was created', async () => {
    await expectEverywhere([]);
    const body = {
      title: 'Lighthouse keepers',
      description: '',
      visibility: 'public' as const,
      tags: ['Beacon'],
    };
    space = (await api.createSpace({ client: ann, body, throwOnError: true })).data;
    await expectEverywhere([{ space_id: space.space_id, participant_count: 1 }]);
  });

  test('sees a new dictionary, although its response was cached', async () => {
    const path = '/api/spaces/search?q=lihgthouse';
    const expected = Array(8).fill([expect.objectContaining({ space_id: space.space_id })]);
    await expect.poll(() => everywhere(path), { timeout: 20_000 }).toEqual(expected);
    const misspelt = '/api/spaces/search?q=lihgtship';
    expect(await everywhere(misspelt)).toEqual(Array(8).fill([]));
    const body = { title: 'Lightship', description: '', visibility: 'public' as const, tags: [] };
    const { data } = await api.createSpace({ client: ann, body, throwOnError: true });
    const found = Array(8).fill([expect.objectContaining({ space_id: data.space_id })]);
    await expect.poll(() => everywhere(misspelt), { timeout: 20_000 }).toEqual(found);
    await api.deleteSpace({ client: ann, path: data, throwOnError: true });
    expect(await everywhere(misspelt)).toEqual(Array(8).fill([]));
  });

  test('sees that somebody joined and left', async () => {
    const path = { space_id: space.space_id };
    await api.joinSpace({ client: ben, path, body: {}, throwOnError: true });
    await expectEverywhere([{ participant_count: 2 }]);
    await api.leaveSpace({ client: ben, path, throwOnError: true });
    await expectEverywhere([{ participant_count: 1 }]);
  });

  test('sees its new description and tags', async () => {
    const path = { space_id: space.space_id };
    const body = { description: 'Lamps and lenses.', tags: ['Beacon', 'Sea'] };
    await api.updateSpace({ client: ann, path, body, throwOnError: true });
    await expectEverywhere([
      { description: 'Lamps and lenses.', tags: [{ tag_name: 'Beacon' }, { tag_name: 'Sea' }] },
    ]);
  });

  test('sees its creator’s new name', async () => {
    await api.changeUsername({ client: ann, body: { username: 'anna' }, throwOnError: true });
    await expectEverywhere([{ creator: { username: 'anna' } }]);
  });

  test('sees no more of it once it is private, and all of it once it is public again', async () => {
    const path = { space_id: space.space_id };
    const change = (visibility: 'public' | 'private') =>
      api.updateSpace({ client: ann, path, body: { visibility }, throwOnError: true });
    await change('private');
    await expectEverywhere([]);
    await change('public');
    await expectEverywhere([{ space_id: space.space_id }]);
  });

  test('sees that its creator’s account was deleted', async () => {
    await api.deleteAccount({ client: ann, throwOnError: true });
    await expectEverywhere([]);
  });
});
