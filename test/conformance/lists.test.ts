import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { operations } from '../../server/contract.ts';
import type { DataRecord } from '../../server/import-export/records.ts';
import { pathsWith } from '../support/requests.ts';
import { comparePages, itemsOf } from './pages.ts';
import { recordsToList } from './records.ts';
import { addReports, openSessions, type Services, startServices } from './services.ts';

const now = new Date();
const records = recordsToList(now);
const idsOf = (type: DataRecord['type'], key: string) =>
  records.filter((record) => record.type === type).map((record) => String(record[key as never]));
const userIds = idsOf('user', 'user_id');
const spaceIds = idsOf('space', 'space_id');
const tags = [
  ...new Set(records.flatMap((record) => (record.type === 'space' ? (record.tags ?? []) : []))),
];

/** Creators, participants, and users who left or were removed. */
const callers = [...userIds.slice(0, 4), ...userIds.slice(-2)];

/** The 30 generated spaces, and some of the sample. */
const listedSpaces = spaceIds.filter((_, i) => i < 30 || i % 8 === 0);

const SESSIONS_PER_CALLER = 45;

let services: Services;
/** The access token of each caller. */
const tokens = new Map<string, string>();

beforeAll(async () => {
  services = await startServices(records);
  for (const userId of callers) {
    tokens.set(
      userId,
      await openSessions(services, userId, { count: SESSIONS_PER_CALLER, time: now }),
    );
  }
  const reported = idsOf('message', 'message_id').filter((_, i) => i % 4 === 0);
  await addReports(services, userIds.at(-1) as string, reported, now);
  // PostgreSQL moves a changed row to another place, and may read rows in the order of their places.
  for (const { client } of [services.sqlite, services.postgresql]) {
    for (const space of records) {
      if (space.type !== 'space' || !tokens.has(space.creator_id)) continue;
      const creator = client(tokens.get(space.creator_id));
      const path = { space_id: space.space_id as string };
      const body = { description: `${space.description}!` };
      if (Number(space.space_id?.at(-1)) % 3 === 0) {
        await api.updateSpace({ client: creator, path, body, throwOnError: true });
      }
    }
  }
});
afterAll(() => services[Symbol.asyncDispose]());

/** Values of required parameters. Every caller requests each of them. */
const values = {
  q: ['東', 'the', 'a', 'bread', 'generated'],
  tag: tags.slice(0, 10),
  space_id: listedSpaces,
  user_id: userIds,
  message_id: idsOf('message', 'message_id').filter((_, i) => i % 20 === 0),
};

const reads = operations.filter(({ method }) => method === 'GET');
const [lists, resources] = [true, false].map((isList) =>
  reads
    .filter(({ parameters }) => parameters.some(({ name }) => name === 'cursor') === isList)
    .map((operation): [string, string[]] => [operation.operationId, pathsWith(operation, values)]),
) as [[string, string[]][], [string, string[]][]];

describe('SQLite and PostgreSQL return the same pages', () => {
  test.each(lists)('%s', async (_, paths) => {
    const counts = { pages: 0, items: 0 };
    for (const [i, userId] of callers.entries()) {
      const headers = { authorization: `Bearer ${tokens.get(userId)}` };
      for (const [j, path] of paths.entries()) {
        const limit = [3, 7, 20, 100][(i + j) % 4] as number;
        const url = `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`;
        const pages = await comparePages(services, url, headers);
        if (pages[0]?.status !== 200) continue;
        counts.pages += pages.length;
        counts.items += itemsOf(pages).length;
      }
    }
    expect(counts.items).toBeGreaterThan(50);
    expect(counts.pages).toBeGreaterThan(callers.length);
  });
});

describe('SQLite and PostgreSQL return the same response', () => {
  test.each(resources)('%s', async (_, paths) => {
    let found = 0;
    for (const userId of callers) {
      const headers = { authorization: `Bearer ${tokens.get(userId)}` };
      for (const path of paths) {
        const [response] = await comparePages(services, path, headers);
        if (response?.status === 200) found += 1;
      }
    }
    expect(found).toBeGreaterThanOrEqual(callers.length);
  });
});
