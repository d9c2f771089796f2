import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Participation, Space, SpaceUpdate } from '../../generated/types.gen.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { uploadAvatar } from '../support/avatar.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { createSpace, getError, joinSpace, sendMessage, spaceCreation } from '../support/spaces.ts';

let app: TestApp;
let ann: TestUser;
let ben: TestUser;
let stranger: Pick<TestUser, 'client'>;

beforeAll(async () => {
  app = await startApp();
  ann = await app.register('ann');
  ben = await app.register('ben');
  stranger = { client: app.client() };
});
afterAll(() => app[Symbol.asyncDispose]());

const getSpace = async ({ client }: Pick<TestUser, 'client'>, { space_id }: { space_id: string }) =>
  (await api.getSpace({ client, path: { space_id }, throwOnError: true })).data;

const updateSpace = async ({ client }: TestUser, { space_id }: Space, body: SpaceUpdate) =>
  (await api.updateSpace({ client, path: { space_id }, body, throwOnError: true })).data;

const deleteSpace = ({ client }: TestUser, { space_id }: Space) =>
  api.deleteSpace({ client, path: { space_id }, throwOnError: true });

const leave = ({ client }: TestUser, { space_id }: Space) =>
  api.leaveSpace({ client, path: { space_id }, throwOnError: true });

const listParticipations = async ({ client }: TestUser) => {
  const query = { limit: 100 };
  return (await api.listParticipations({ client, query, throwOnError: true })).data;
};

/** Returns the titles of the spaces that a text search finds. */
async function findByText(q: string): Promise<string[]> {
  const { client } = stranger;
  const { data } = await api.searchSpaces({ client, query: { q }, throwOnError: true });
  return data.map(({ title }) => title);
}

/** Returns the titles of the spaces with a tag. */
async function findByTag(tag: string): Promise<string[]> {
  const { client } = stranger;
  const { data } = await api.searchSpacesByTag({ client, path: { tag }, throwOnError: true });
  return data.map(({ title }) => title);
}

describe('createSpace', () => {
  test('returns the same space as getSpace, with its creator as a participant', async () => {
    const space = await createSpace(ann, {
      title: 'Sourdough',
      description: 'Starters.',
      tags: ['baking', 'Bread & butter'],
    });
    expect(space).toEqual({
      space_id: expect.any(String),
      title: 'Sourdough',
      description: 'Starters.',
      visibility: 'public',
      creator: {
        user_id: ann.userId,
        username: 'ann',
        profile_picture: `${app.url}/avatars/default.webp`,
      },
      participant_count: 1,
      tags: [
        { tag_id: expect.any(Number), tag_name: 'baking' },
        { tag_id: expect.any(Number), tag_name: 'Bread & butter' },
      ],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      invitation_code: null,
    });
    for (const reader of [ann, ben, stranger]) expect(await getSpace(reader, space)).toEqual(space);
    expect((await listParticipations(ann))[0]).toEqual({ space, joined_at: space.created_at });
  });

  test('returns a unique invitation code for a private space, to the creator only', async () => {
    const space = await createSpace(ann, { visibility: 'private' });
    expect(space.invitation_code).toMatch(/^[\w-]{22,64}$/);
    await joinSpace(ben, space);
    expect(await getSpace(ben, space)).toEqual({
      ...space,
      participant_count: 2,
      invitation_code: null,
    });
    expect((await listParticipations(ben))[0]?.space.invitation_code).toBeNull();
    expect((await getSpace(ann, space)).invitation_code).toBe(space.invitation_code);
    const other = await createSpace(ann, { visibility: 'private' });
    expect(other.invitation_code).not.toBe(space.invitation_code);
  });

  test('trims texts, normalises line breaks and makes no other changes', async () => {
    const space = await createSpace(ann, {
      title: ' 100 % “plain”  <b>text</b> \\ 🫖 ',
      description: '\r\n one\r\ntwo\rthree\n\n "four"\t'.replace('\t', ''),
    });
    expect(space.title).toBe('100 % “plain”  <b>text</b> \\ 🫖');
    expect(space.description).toBe('one\ntwo\nthree\n\n "four"');
    const { data } = await api.searchSpaces({
      client: stranger.client,
      query: { q: '100 plain text 🫖' },
    });
    expect(data?.[0]).toMatchObject({ title: space.title, description: space.description });
  });

  test('stores each tag once, without its # and in its first spelling, in the given order', async () => {
    const { tags } = await createSpace(ann, {
      tags: ['#Ünder  the Sea', 'C#', 'under the sea', 'ＣＲＡＦＴ', ' #craft', '++'],
    });
    expect(tags.map(({ tag_name }) => tag_name)).toEqual([
      'Ünder the Sea',
      'C#',
      'ＣＲＡＦＴ',
      '++',
    ]);
    const other = await createSpace(ben, { tags: ['Craft', 'c#'] });
    expect(other.tags).toEqual([
      { tag_id: tags[2]?.tag_id, tag_name: 'Craft' },
      { tag_id: tags[1]?.tag_id, tag_name: 'c#' },
    ]);
  });

  test('measures lengths in code points', async () => {
    const longest = {
      title: '🫖'.repeat(120),
      description: '🫖'.repeat(500),
      tags: Array.from({ length: 10 }, (_, i) => `${i}${'🫖'.repeat(63)}`),
    };
    const space = await createSpace(ann, longest);
    expect(space).toMatchObject({ title: longest.title, description: longest.description });
    expect(space.tags.map(({ tag_name }) => tag_name)).toEqual(longest.tags);
  });

  test.each([
    ['an empty title', 'title', ''],
    ['a blank title', 'title', ' \t '],
    ['an invisible title', 'title', '\u200B\u00AD\u{E0041} '],
    ['a title of 121 code points', 'title', 'a'.repeat(121)],
    ['a title of two lines', 'title', 'two\nlines'],
    ['a title of two lines separated by U+2028', 'title', 'two\u2028lines'],
    ['a control character in the title', 'title', 'bell \x07'],
    ['a description of 501 code points', 'description', 'a'.repeat(501)],
    ['a tab in the description', 'description', 'tab\tstop'],
    ['an escape sequence in the description', 'description', 'red \x1B[31m'],
    ['an unknown visibility', 'visibility', 'secret'],
    ['a visibility in capitals', 'visibility', 'Public'],
    ['an empty visibility', 'visibility', ''],
    ['eleven tags', 'tags', Array.from({ length: 11 }, (_, i) => `tag ${i}`)],
    ['a tag of 65 code points', 'tags/1', ['fine', 'a'.repeat(65)]],
    ['an empty tag', 'tags/0', ['']],
    ['a tag that consists of #', 'tags/2', ['one', 'two', ' # ']],
    ['an invisible tag', 'tags/0', ['\u200B']],
    ['a control character in a tag', 'tags/1', ['one', 'two\x7F']],
  ])('rejects %s', async (_, pointer, value) => {
    const count = (await listParticipations(ann)).length;
    const field = pointer.split('/')[0] as string;
    const { error, response } = await api.createSpace({
      client: ann.client,
      body: spaceCreation({ [field]: value }),
    });
    expect(response?.status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: `/${pointer}` }] });
    expect(await listParticipations(ann)).toHaveLength(count);
  });
});

describe('getSpace of a public space', () => {
  test('rejects an invalid token, although a token is optional', async () => {
    const space = await createSpace(ann);
    expect(await getError(api.getSpace({ client: app.client('no-token'), path: space }))).toBe(
      '401 unauthenticated',
    );
  });

  test('returns the creator’s new username and avatar immediately, as do lists and searches', async () => {
    const creator = await app.register('zoe');
    const space = await createSpace(creator, { title: 'Renaming', tags: ['renamed'] });
    await joinSpace(ben, space);
    const avatarUrl = await uploadAvatar(creator);
    await api.changeUsername({ client: creator.client, body: { username: 'Zoë.2' } });
    const expected = {
      user_id: creator.userId,
      username: 'Zoë.2',
      profile_picture: avatarUrl,
    };
    expect(expected.profile_picture).not.toBe(space.creator.profile_picture);
    expect((await getSpace(stranger, space)).creator).toEqual(expected);
    expect((await listParticipations(ben))[0]?.space.creator).toEqual(expected);
    for (const path of ['/api/spaces/search?q=renaming', '/api/spaces/tag/renamed']) {
      expect(await (await app.fetch(path)).json()).toMatchObject([{ creator: expected }]);
    }
  });
});

describe('a private space', () => {
  let space: Space;
  let message_id: string;
  let guest: TestUser;
  beforeAll(async () => {
    space = await createSpace(ann, {
      title: 'Quincunx',
      description: 'Zygomorphic',
      visibility: 'private',
      tags: ['quincuncial'],
    });
    ({ message_id } = await sendMessage(ann, space, 'Nobody hears this.'));
    guest = await app.register('guest');
    await joinSpace(guest, space);
  });

  type Ids = Record<'space_id' | 'message_id', string>;
  /** Every operation on a space or a message. */
  const operationsOnIt = operations.filter((operation) =>
    inputNamesOf(operation).some((name) => name === 'space_id' || name === 'message_id'),
  );
  const openOperations = operationsOnIt.filter((each) => each.authentication === 'optional');

  const sendAs = (headers: Record<string, string>, operation: Operation) => (ids: Ids) => {
    const { url, init } = exampleRequest(operation, ids);
    return app.fetch(url, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...headers },
    });
  };
  /** Asserts that the response equals the one for a space that does not exist. */
  const assertHidden = async (request: (ids: Ids) => Promise<Response>) => {
    const problemOf = async (ids: Ids) => {
      const response = await request(ids);
      expect(response.status).toBe(404);
      return { ...(await response.json()), request_id: '' };
    };
    const actual = await problemOf({ space_id: space.space_id, message_id });
    expect(actual).toEqual(await problemOf({ space_id: 'no-space', message_id: 'no-message' }));
  };

  test('is tested with operations on spaces, messages and appreciations', () => {
    const ids = operationsOnIt.map(({ operationId }) => operationId);
    expect(ids).toEqual(expect.arrayContaining(['getSpace', 'sendMessage', 'appreciateMessage']));
    expect(openOperations.map(({ operationId }) => operationId)).toContain('listMessages');
  });
  test.each(openOperations)('is hidden from callers without a token: $operationId', (operation) =>
    assertHidden(sendAs({}, operation)),
  );
  test.each(operationsOnIt)(
    'is hidden from users who do not participate: $operationId',
    (operation) => assertHidden(sendAs(ben.headers, operation)),
  );
  test('is hidden from users who guess an invitation code', () =>
    assertHidden(({ space_id }) =>
      app.fetch(`/api/participations/${space_id}`, {
        method: 'PUT',
        headers: { ...ben.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ invitation_code: 'guess' }),
      }),
    ));

  test('is not found by any search, even by its participants', async () => {
    for (const q of ['quincunx', 'Zygomorphic', 'quin', 'quincunc']) {
      expect(await findByText(q)).toEqual([]);
      expect((await api.searchSpaces({ client: ann.client, query: { q } })).data).toEqual([]);
    }
    expect(await findByTag('quincuncial')).toEqual([]);
  });

  test('can be read by its participants', async () => {
    expect(await getSpace(guest, space)).toMatchObject({ title: 'Quincunx', participant_count: 2 });
    const { data } = await api.listMessages({
      client: guest.client,
      query: { space_id: space.space_id },
    });
    expect(data).toMatchObject([{ message_id, text: 'Nobody hears this.' }]);
  });

  test('is hidden from users who have left, until they join again', async () => {
    await leave(guest, space);
    for (const operation of operationsOnIt) await assertHidden(sendAs(guest.headers, operation));
    await joinSpace(guest, space);
    expect(await getSpace(guest, space)).toMatchObject({ participant_count: 2 });
  });

  test('can be joined again by its participants without an invitation code', async () => {
    const { data } = await api.joinSpace({ client: guest.client, path: space });
    expect(data?.space.participant_count).toBe(2);
  });
});

describe('joinSpace', () => {
  let space: Space;
  let carl: TestUser;
  beforeEach(async () => {
    space = await createSpace(ann);
    carl = await app.register();
  });

  test('returns the space and the time of joining, unchanged when repeated', async () => {
    const first = await api.joinSpace({ client: carl.client, path: space, throwOnError: true });
    expect(first.data).toEqual({
      space: { ...space, participant_count: 2 },
      joined_at: expect.any(String),
    });
    expect(Date.parse(first.data.joined_at)).toBeGreaterThanOrEqual(Date.parse(space.created_at));
    await sleep(2);
    const second = await api.joinSpace({ client: carl.client, path: space, throwOnError: true });
    expect(second.data).toEqual(first.data);
    expect(await listParticipations(carl)).toEqual([first.data]);
  });

  test('accepts a public space with or without a body or an invitation code', async () => {
    const { client } = carl;
    for (const body of [
      undefined,
      null,
      {},
      { invitation_code: null },
      { invitation_code: 'whatever' },
    ]) {
      const { response } = await api.joinSpace({
        client,
        path: space,
        ...(body !== undefined && { body }),
      });
      expect(response?.status).toBe(200);
    }
    expect((await getSpace(carl, space)).participant_count).toBe(2);
  });

  test('counts concurrent requests of a user once, like leaveSpace', async () => {
    await Promise.all(Array.from({ length: 12 }, () => joinSpace(carl, space)));
    expect((await getSpace(carl, space)).participant_count).toBe(2);
    await Promise.all(Array.from({ length: 12 }, () => leave(carl, space)));
    expect((await getSpace(carl, space)).participant_count).toBe(1);
  });

  test('rejects a malformed invitation code', async () => {
    for (const invitation_code of ['', 'a'.repeat(65)]) {
      const call = api.joinSpace({ client: carl.client, path: space, body: { invitation_code } });
      expect(await getError(call)).toBe('400 invalid_request');
    }
  });
});

describe('leaveSpace', () => {
  let space: Space;
  let carl: TestUser;
  beforeEach(async () => {
    space = await createSpace(ann);
    carl = await app.register();
  });

  const readParticipation = () =>
    app.context.engine.db
      .selectFrom('participations')
      .innerJoin('users', 'users.pk', 'participations.user_pk')
      .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
      .select(['joined_at', 'left_at'])
      .where('user_id', '=', carl.userId)
      .where('space_id', '=', space.space_id)
      .executeTakeFirst();

  test('changes nothing for a user who does not participate', async () => {
    await leave(carl, space);
    expect(await getSpace(carl, space)).toEqual(space);
    expect(await readParticipation()).toBeUndefined();
  });

  test('keeps joined_at and stores left_at once', async () => {
    await joinSpace(carl, space);
    const joined = await readParticipation();
    await leave(carl, space);
    const left = await readParticipation();
    expect(left).toEqual({ ...joined, left_at: expect.any(String) });
    expect(await listParticipations(carl)).toEqual([]);
    expect(await getSpace(carl, space)).toEqual(space);
    await sleep(2);
    await leave(carl, space);
    expect(await readParticipation()).toEqual(left);
    expect((await getSpace(carl, space)).participant_count).toBe(1);
  });

  test('allows the user to join again, with a new joined_at', async () => {
    await joinSpace(carl, space);
    const before = await readParticipation();
    await leave(carl, space);
    await sleep(2);
    await joinSpace(carl, space);
    const after = await readParticipation();
    expect(after?.left_at).toBeNull();
    expect(Date.parse(after?.joined_at ?? '')).toBeGreaterThan(Date.parse(before?.joined_at ?? ''));
    expect(await listParticipations(carl)).toMatchObject([
      { space: { space_id: space.space_id, participant_count: 2 }, joined_at: after?.joined_at },
    ]);
  });

  test('keeps the user’s messages and prevents new ones', async () => {
    await joinSpace(carl, space);
    await sendMessage(carl, space, 'I was here.');
    await leave(carl, space);
    const { data } = await api.listMessages({
      client: stranger.client,
      query: { space_id: space.space_id },
    });
    expect(data).toMatchObject([{ text: 'I was here.', author: { user_id: carl.userId } }]);
    const body = { space_id: space.space_id, text: 'And again.' };
    expect(await getError(api.sendMessage({ client: carl.client, body }))).toBe(
      '403 not_a_participant',
    );
  });

  test('rejects the creator', async () => {
    const call = api.leaveSpace({ client: ann.client, path: space });
    expect(await getError(call)).toBe('409 creator_cannot_leave');
    expect((await getSpace(ann, space)).participant_count).toBe(1);
  });
});

describe('listParticipations', () => {
  let dora: TestUser;
  let spaces: Space[];
  beforeAll(async () => {
    dora = await app.register('dora');
    spaces = [];
    for (const i of Array(7).keys()) {
      spaces.push(await createSpace(i % 2 ? ann : dora, { title: `Space ${i}` }));
      if (i % 2) await joinSpace(dora, spaces.at(-1) as Space);
    }
    await leave(dora, spaces[1] as Space);
    await leave(dora, spaces[5] as Space);
    await joinSpace(dora, spaces[1] as Space);
    // Sets the same timestamp for the participations in all but the last two listed spaces.
    const { joined_at } = (await listParticipations(dora)).at(-1) as Participation;
    await app.context.engine.db
      .updateTable('participations')
      .set({ joined_at })
      .where('space_pk', 'in', (eb) =>
        eb.selectFrom('spaces').select('pk').where('title', 'in', titles.slice(2)),
      )
      .execute();
  });

  const titles = ['Space 1', 'Space 6', 'Space 4', 'Space 3', 'Space 2', 'Space 0'];

  test('returns the spaces of the caller, the last joined first', async () => {
    expect((await listParticipations(dora)).map(({ space }) => space.title)).toEqual(titles);
  });

  test.each([1, 2, 3, 5, 6, 7])('returns the same list in pages of %i', async (limit) => {
    const path = `/api/participations?limit=${limit}`;
    const pages = await readPages<Participation>(app, path, { headers: dora.headers });
    expect(pages.map((page) => page.length)).toEqual(
      Array.from({ length: Math.ceil(6 / limit) }, (_, i) => Math.min(limit, 6 - i * limit)),
    );
    expect(pages.flat().map(({ space }) => space.title)).toEqual(titles);
  });

  test('does not repeat spaces if the caller joins one between two pages', async () => {
    const first = await app.fetch('/api/participations?limit=3', { headers: dora.headers });
    const link = nextPage(first) as string;
    const space = await createSpace(dora, { title: 'A new one' });
    const [rest] = await readPages<Participation>(app, link, { headers: dora.headers });
    expect(rest?.map(({ space }) => space.title)).toEqual(titles.slice(3));
    await deleteSpace(dora, space);
  });

  test.each(['x', 'WzFd', 'WyIyMDI2LTAxLTAxIl0', 'WyJcdTAwMDAiLDFd', 'bnVsbA', 'a b'])(
    'rejects the cursor %j',
    async (cursor) => {
      const call = api.listParticipations({ client: dora.client, query: { cursor } });
      expect(await getError(call)).toBe('400 invalid_cursor');
    },
  );
});

describe('updateSpace', () => {
  let space: Space;
  beforeEach(async () => {
    space = await createSpace(ann, {
      title: 'Kites',
      description: 'Made of paper.',
      tags: ['wind', 'paper'],
    });
  });

  test.each([
    { title: 'Paper kites' },
    { description: '' },
    { visibility: 'private' as const },
    { visibility: 'public' as const },
    { title: 'Kite flying', description: 'On the beach.' },
  ])('changes only %j', async (update) => {
    const changed = await updateSpace(ann, space, update);
    const code = update.visibility === 'private' ? expect.any(String) : null;
    expect(changed).toEqual({ ...space, ...update, invitation_code: code });
    expect(await getSpace(ann, space)).toEqual(changed);
    await deleteSpace(ann, space);
  });

  test('replaces or removes the tags', async () => {
    const tagNames = ({ tags }: Space) => tags.map(({ tag_name }) => tag_name);
    const [, paper] = space.tags;
    const changed = await updateSpace(ann, space, { tags: ['Paper', 'string'] });
    expect(tagNames(changed)).toEqual(['Paper', 'string']);
    expect(changed.tags[0]?.tag_id).toBe(paper?.tag_id);
    expect(await findByTag('wind')).not.toContain('Kites');
    expect(await findByTag('string')).toContain('Kites');
    expect(tagNames(await updateSpace(ann, space, { tags: [] }))).toEqual([]);
    expect(await findByTag('string')).not.toContain('Kites');
  });

  test('deletes tags without spaces and keeps the others', async () => {
    const readTagKeys = async () => {
      const rows = await app.context.engine.db.selectFrom('tags').select('tag_key').execute();
      return rows.map(({ tag_key }) => tag_key);
    };
    await updateSpace(ann, space, { tags: ['dodecahedron'] });
    const other = await createSpace(ben, { tags: ['Dodecahedron', 'icosahedron'] });
    await updateSpace(ann, space, { tags: ['tetrahedron'] });
    expect(await readTagKeys()).toEqual(
      expect.arrayContaining(['dodecahedron', 'icosahedron', 'tetrahedron']),
    );
    await deleteSpace(ben, other);
    expect(await readTagKeys()).not.toContain('dodecahedron');
    expect(await readTagKeys()).not.toContain('icosahedron');
    expect(await readTagKeys()).toContain('tetrahedron');
    await updateSpace(ann, space, { tags: [] });
    expect(await readTagKeys()).not.toContain('tetrahedron');
  });

  test('removes a space from every search while it is private', async () => {
    await updateSpace(ann, space, { title: 'Sextant', tags: ['navigation'] });
    expect([await findByText('sextant'), await findByTag('navigation')]).toEqual([
      ['Sextant'],
      ['Sextant'],
    ]);
    await updateSpace(ann, space, { visibility: 'private' });
    expect([await findByText('sextant'), await findByTag('navigation')]).toEqual([[], []]);
    await updateSpace(ann, space, { title: 'Octant', description: 'For sailors.' });
    expect([await findByText('octant'), await findByText('sailors')]).toEqual([[], []]);
    await updateSpace(ann, space, { visibility: 'public' });
    expect([await findByText('octant sailors'), await findByTag('navigation')]).toEqual([
      ['Octant'],
      ['Octant'],
    ]);
    expect(await findByText('sextant')).toEqual([]);
  });

  test('creates a new invitation code each time the space becomes private', async () => {
    const codes = [];
    for (const visibility of ['private', 'private', 'public', 'private'] as const) {
      codes.push((await updateSpace(ann, space, { visibility, title: 'Kites' })).invitation_code);
    }
    const [first, unchanged, none, second] = codes;
    expect(first).toMatch(/^[\w-]{22,}$/);
    expect(unchanged).toBe(first);
    expect(none).toBeNull();
    expect(second).toMatch(/^[\w-]{22,}$/);
    expect(second).not.toBe(first);
    const call = api.joinSpace({
      client: ben.client,
      path: space,
      body: { invitation_code: String(first) },
    });
    expect(await getError(call)).toBe('404 space_not_found');
  });

  test('keeps the participants', async () => {
    await joinSpace(ben, space);
    await updateSpace(ann, space, { visibility: 'private' });
    expect(await getSpace(ben, space)).toMatchObject({
      visibility: 'private',
      participant_count: 2,
    });
  });

  test('rejects users other than the creator', async () => {
    await joinSpace(ben, space);
    const call = () =>
      api.updateSpace({ client: ben.client, path: space, body: { title: 'Mine' } });
    expect(await getError(call())).toBe('403 not_space_creator');
    await updateSpace(ann, space, { visibility: 'private' });
    expect(await getError(call())).toBe('403 not_space_creator');
    expect((await getSpace(ann, space)).title).toBe('Kites');
  });

  test.each([
    ['no change', '', {}],
    ['a blank title', '/title', { title: ' ' }],
    ['a long title', '/title', { title: 'a'.repeat(121), description: 'new' }],
    ['NUL', '/description', { description: '\x00' }],
    ['an empty tag', '/tags/1', { description: 'new', tags: ['new', '#'] }],
    ['a new participant_count', '/participant_count', { participant_count: 1000 }],
    ['a new creator', '/creator', { creator: 'ben' }],
    ['a new invitation_code', '/invitation_code', { invitation_code: 'let me in' }],
  ])('rejects %s and changes nothing', async (_, pointer, body) => {
    const { error, response } = await api.updateSpace({
      client: ann.client,
      path: space,
      body: body as SpaceUpdate,
    });
    expect(response?.status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
    expect(await getSpace(ann, space)).toEqual(space);
  });
});

describe('deleteSpace', () => {
  test('deletes the space and its messages for everyone', async () => {
    const space = await createSpace(ann, { title: 'Astrolabe', tags: ['brass'] });
    await joinSpace(ben, space);
    const { message_id } = await sendMessage(ben, space, 'How old is it?');
    await api.appreciateMessage({ client: ann.client, path: { message_id }, throwOnError: true });
    await deleteSpace(ann, space);

    const { client } = ben;
    for (const call of [
      api.getSpace({ client, path: space }),
      api.listMessages({ client, query: { space_id: space.space_id } }),
      api.joinSpace({ client, path: space }),
      api.leaveSpace({ client, path: space }),
      api.sendMessage({ client, body: { space_id: space.space_id, text: 'Hello?' } }),
      api.updateSpace({ client: ann.client, path: space, body: { title: 'Again' } }),
      api.deleteSpace({ client: ann.client, path: space }),
    ]) {
      expect(await getError(call)).toBe('404 space_not_found');
    }
    const path = { message_id };
    expect(await getError(api.deleteMessage({ client, path }))).toBe('404 message_not_found');
    expect([await findByText('astrolabe'), await findByTag('brass')]).toEqual([[], []]);
    for (const user of [ann, ben]) {
      const ids = (await listParticipations(user)).map((each) => each.space.space_id);
      expect(ids).not.toContain(space.space_id);
    }
  });

  test('rejects users other than the creator', async () => {
    const space = await createSpace(ann);
    await joinSpace(ben, space);
    const call = api.deleteSpace({ client: ben.client, path: space });
    expect(await getError(call)).toBe('403 not_space_creator');
    expect(await getSpace(stranger, space)).toMatchObject({ participant_count: 2 });
  });
});

describe('the parameter space_id', () => {
  test.each([
    ['with 65 characters', 'a'.repeat(65)],
    ['with a space', 'no id'],
    ['with an accent', 'café'],
    ['with a slash', 'a/b'],
    ['with a quote', "'--"],
    ['with NUL', 'a\0'],
  ])('is rejected %s', async (_, space_id) => {
    for (const [method, path] of [
      ['GET', '/api/spaces/'],
      ['PATCH', '/api/spaces/'],
      ['DELETE', '/api/spaces/'],
      ['PUT', '/api/participations/'],
      ['DELETE', '/api/participations/'],
    ] as const) {
      const response = await app.fetch(path + encodeURIComponent(space_id), {
        method,
        headers: { ...ann.headers, 'content-type': 'application/json' },
        ...(method === 'PATCH' && { body: '{"title":"x"}' }),
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ errors: [{ pointer: '{space_id}' }] });
    }
  });

  test('returns 404 if it is unknown', async () => {
    const { client } = ann;
    const path = { space_id: 'a'.repeat(64) };
    for (const call of [
      api.getSpace({ client, path }),
      api.getSpace({ client: stranger.client, path }),
      api.updateSpace({ client, path, body: { title: 'x' } }),
      api.deleteSpace({ client, path }),
      api.joinSpace({ client, path }),
      api.leaveSpace({ client, path }),
    ]) {
      expect(await getError(call)).toBe('404 space_not_found');
    }
  });
});

test('all operations except reads of public spaces require a token', async () => {
  const space = await createSpace(ann);
  const { client } = stranger;
  const body = spaceCreation();
  for (const call of [
    api.createSpace({ client, body }),
    api.updateSpace({ client, path: space, body }),
    api.deleteSpace({ client, path: space }),
    api.listParticipations({ client }),
    api.joinSpace({ client, path: space }),
    api.leaveSpace({ client, path: space }),
  ]) {
    expect(await getError(call)).toBe('401 unauthenticated');
  }
  expect(await getSpace(stranger, space)).toEqual(space);
});
