import { beforeAll, describe, expect, test } from 'vitest';
import type { Space } from '../../generated/types.gen.ts';
import { operations } from '../../server/contract.ts';
import { startApp } from '../support/app.ts';
import { createLists } from '../support/lists.ts';
import { itemsOf, nextPage } from '../support/pages.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { getPage, searchPath, tagPath } from '../support/search-pages.ts';
import { createSpace } from '../support/spaces.ts';
import { createTeaSpaces } from '../support/tea-spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let headers: Record<string, string>;
let spaces: Space[];

beforeAll(async () => {
  ({ spaces } = await createTeaSpaces(app));
});

const get = (path: string) => getPage(app, path);

describe('A cursor', () => {
  const MISSPELLING = 'teehouse';
  const listOperations = operations.filter((each) => inputNamesOf(each).includes('limit'));
  /** The lists of all operations, and two other lists of searchSpaces. */
  const lists = [...listOperations.map(({ operationId }) => operationId), 'corrected', 'as typed'];
  /** The path of each list. */
  const paths: Record<string, string> = {};
  /** The cursor on the first page of each list. */
  const issued: Record<string, string> = {};

  const cursorOf = (path: string | undefined) =>
    new URL(path as string, app.url).searchParams.get('cursor') as string;

  beforeAll(async () => {
    const created = await createLists(app);
    headers = created.headers;
    const values = { ...created.values, q: 'tea', tag: 'everything' };
    for (const operation of listOperations) {
      // The users of these lists have other names.
      const { q, ...others } = values;
      const own = operation.operationId === 'findUsers' ? others : values;
      const { url } = exampleRequest(operation, own);
      paths[operation.operationId] = `${url}${url.includes('?') ? '&' : '?'}limit=1`;
    }
    paths.corrected = searchPath(MISSPELLING, 1);
    paths['as typed'] = searchPath('tea', 1, true);
    for (const list of lists) {
      const { status, next } = await read(list);
      expect(
        { status, next },
        `openWorld in verification/world.ts needs two items of ${list}`,
      ).toEqual({
        status: 200,
        next: expect.any(String),
      });
      issued[list] = cursorOf(next);
    }
  });

  const operationOf = (list: string) =>
    listOperations.find(({ operationId }) => operationId === list);

  /** Requests a list, with a token if it requires one. */
  const read = (list: string, path = paths[list] as string) => {
    const needsToken = operationOf(list)?.authentication === 'required';
    return getPage(app, path, needsToken ? { headers } : {});
  };
  const at = (list: string, cursor: string, path = paths[list] as string) =>
    read(list, `${path}&${new URLSearchParams({ cursor })}`);

  const expectRejected = ({ status, body }: { status: number; body: unknown }) => {
    expect(status).toBe(400);
    expect(body).toMatchObject({
      code: 'invalid_cursor',
      errors: [{ in: 'query', name: 'cursor', code: 'invalid_cursor' }],
    });
  };

  test.each(lists)('of the list "%s" is rejected by all other lists', async (from) => {
    const cursor = issued[from] as string;
    for (const to of lists) {
      const answer = await at(to, cursor);
      if (to === from) expect(itemsOf(answer.body)).toHaveLength(1);
      else expectRejected(answer);
    }
  });

  test('is rejected with other parameters', async () => {
    const [, other] = spaces as [Space, Space];
    for (const [list, path] of [
      ['searchSpaces', searchPath('cake', 1)],
      ['searchSpaces', searchPath('TEA', 1)],
      ['searchSpaces', searchPath('tea ', 1)],
      ['searchSpaces', searchPath('tea', 1, true)],
      ['corrected', searchPath('teahouse', 1)],
      ['corrected', searchPath(MISSPELLING, 1, true)],
      ['as typed', searchPath('tea', 1)],
      ['as typed', `${searchPath('tea', 1)}&as_typed=false`],
      ['searchSpacesByTag', tagPath('most', 1)],
      ['searchSpacesByTag', tagPath('Everything', 1)],
      ['listMessages', `/api/messages?space_id=${other.space_id}&limit=1`],
      ['listParticipants', `/api/participants?space_id=${other.space_id}&limit=1`],
    ] as const) {
      expect((await read(list, path)).status).toBe(200);
      expectRejected(await at(list, issued[list] as string, path));
    }
  });

  test('does not depend on the limit, the order of parameters, or explicit defaults', async () => {
    const second = (await get(searchPath('tea', 2))).body[1];
    const encoded = encodeURIComponent(issued.searchSpaces as string);
    for (const parameters of [
      `q=tea&limit=1&cursor=${encoded}`,
      `limit=1&cursor=${encoded}&q=tea`,
      `q=tea&limit=7&cursor=${encoded}`,
      `q=tea&cursor=${encoded}`,
      `q=%74ea&limit=100&cursor=${encoded}`,
      `q=tea&as_typed=false&limit=1&cursor=${encoded}`,
    ]) {
      const { status, body } = await get(`/api/spaces/search?${parameters}`);
      expect(status).toBe(200);
      expect(body[0]).toEqual(second);
    }
    const { body } = await get(`${tagPath('everything', 3)}&cursor=${issued.searchSpacesByTag}`);
    expect(body).toHaveLength(3);
  });

  test('of another database is rejected', async () => {
    await using foreign = await startApp();
    const user = await foreign.register();
    for (const _ of [1, 2]) await createSpace(user, { title: 'Tea', tags: ['everything'] });
    for (const list of ['searchSpaces', 'searchSpacesByTag']) {
      const response = await foreign.fetch(paths[list] as string);
      const cursor = cursorOf(nextPage(response));
      const own = await foreign.fetch(`${paths[list]}&cursor=${cursor}`);
      expect(await own.json()).toHaveLength(1);
      expectRejected(await at(list, cursor));
    }
  });

  test.each(lists)('of the list "%s" must occur once, with 1 to 4,096 characters', async (list) => {
    const cursor = issued[list] as string;
    for (const cursors of [[''], ['a'.repeat(4097)], [cursor, cursor]]) {
      const parameters = new URLSearchParams(cursors.map((each) => ['cursor', each]));
      const { status, body } = await read(list, `${paths[list]}&${parameters}`);
      expect(status).toBe(400);
      // Any other string that is not a cursor of this list has the code `invalid_cursor`.
      expect(body).toMatchObject({
        code: 'invalid_request',
        errors: [{ in: 'query', name: 'cursor' }],
      });
    }
  });
});
