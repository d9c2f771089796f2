import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { register, type TestUser } from '../support/client.ts';
import { type Server, startServer } from '../support/server.ts';
import { createSpace } from '../support/spaces.ts';

// Each worker caches search results. These tests write through one worker and read through both, so that each worker
// must notice the writes of the other.

let server: Server;
beforeAll(async () => {
  server = await startServer({ WORKERS: '2' });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends a request on a new connection, so that any worker may receive it. */
const get = (path: string) =>
  new Promise<SearchResult[]>((resolve, reject) => {
    request(server.url + path, { agent: new Agent() }, async (response) => {
      resolve(JSON.parse((await response.setEncoding('utf8').toArray()).join('')));
    })
      .on('error', reject)
      .end();
  });

/** Returns the results of eight requests. It is very unlikely that all of them reach the same worker. */
const getRepeatedly = async (path: string) => {
  const responses: SearchResult[][] = [];
  for (let i = 0; i < 8; i += 1) responses.push(await get(path));
  return responses;
};

describe('The next search in every worker', () => {
  let ann: TestUser;
  let ben: TestUser;
  let space: Space;
  const paths = ['/api/spaces/search?q=lighthouse', '/api/spaces/tag/beacon'];
  const expectFromAllWorkers = async (expected: object[]) => {
    for (const path of paths) {
      for (const results of await getRepeatedly(path)) expect(results).toMatchObject(expected);
    }
  };

  beforeAll(async () => {
    ann = await register(server.url, 'ann');
    ben = await register(server.url, 'ben');
  });

  test('finds a new space', async () => {
    await expectFromAllWorkers([]);
    space = await createSpace(ann, { title: 'Lighthouse keepers', tags: ['Beacon'] });
    await expectFromAllWorkers([{ space_id: space.space_id, participant_count: 1 }]);
  });

  test('uses a new dictionary, even if the response was cached', async () => {
    const path = '/api/spaces/search?q=lihgthouse';
    const expected = Array(8).fill([expect.objectContaining({ space_id: space.space_id })]);
    await expect.poll(() => getRepeatedly(path)).toEqual(expected);
    const misspelt = '/api/spaces/search?q=lihgtship';
    expect(await getRepeatedly(misspelt)).toEqual(Array(8).fill([]));
    const lightship = await createSpace(ann, { title: 'Lightship' });
    const found = Array(8).fill([expect.objectContaining({ space_id: lightship.space_id })]);
    await expect.poll(() => getRepeatedly(misspelt)).toEqual(found);
    await api.deleteSpace({ client: ann.client, path: lightship, throwOnError: true });
    expect(await getRepeatedly(misspelt)).toEqual(Array(8).fill([]));
  });

  test('returns the participant count after users join and leave', async () => {
    const path = { space_id: space.space_id };
    await api.joinSpace({ client: ben.client, path, body: {}, throwOnError: true });
    await expectFromAllWorkers([{ participant_count: 2 }]);
    await api.leaveSpace({ client: ben.client, path, throwOnError: true });
    await expectFromAllWorkers([{ participant_count: 1 }]);
  });

  test('returns a new description and new tags', async () => {
    const path = { space_id: space.space_id };
    const body = { description: 'Lamps and lenses.', tags: ['Beacon', 'Sea'] };
    await api.updateSpace({ client: ann.client, path, body, throwOnError: true });
    await expectFromAllWorkers([
      { description: 'Lamps and lenses.', tags: [{ tag_name: 'Beacon' }, { tag_name: 'Sea' }] },
    ]);
  });

  test('returns the creator’s new username', async () => {
    await api.changeUsername({
      client: ann.client,
      body: { username: 'anna' },
      throwOnError: true,
    });
    await expectFromAllWorkers([{ creator: { username: 'anna' } }]);
  });

  test('finds a space only while it is public', async () => {
    const path = { space_id: space.space_id };
    const change = (visibility: 'public' | 'private') =>
      api.updateSpace({ client: ann.client, path, body: { visibility }, throwOnError: true });
    await change('private');
    await expectFromAllWorkers([]);
    await change('public');
    await expectFromAllWorkers([{ space_id: space.space_id }]);
  });

  test('does not find spaces of a deleted account', async () => {
    await api.deleteAccount({ client: ann.client, throwOnError: true });
    await expectFromAllWorkers([]);
  });
});
