import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Participation, Space, SpaceUpdate } from '../../generated/types.gen.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { readPages } from '../support/pages.ts';
import { picture } from '../support/picture.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { createSpace, join, refusal, send } from '../support/spaces.ts';

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

const read = async ({ client }: Pick<TestUser, 'client'>, { space_id }: { space_id: string }) =>
  (await api.getSpace({ client, path: { space_id }, throwOnError: true })).data;

const change = async ({ client }: TestUser, { space_id }: Space, body: SpaceUpdate) =>
  (await api.updateSpace({ client, path: { space_id }, body, throwOnError: true })).data;

const remove = ({ client }: TestUser, { space_id }: Space) =>
  api.deleteSpace({ client, path: { space_id }, throwOnError: true });

const leave = ({ client }: TestUser, { space_id }: Space) =>
  api.leaveSpace({ client, path: { space_id }, throwOnError: true });

const spacesOf = async ({ client }: TestUser) => {
  const query = { limit: 100 };
  return (await api.listParticipations({ client, query, throwOnError: true })).data;
};

/** Titles that a search finds, and those that a tag does. */
const found = async (q: string) =>
  (await api.searchSpaces({ client: stranger.client, query: { q }, throwOnError: true })).data.map(
    ({ title }) => title,
  );
const tagged = async (tag: string) =>
  (
    await api.searchSpacesByTag({ client: stranger.client, path: { tag }, throwOnError: true })
  ).data.map(({ title }) => title);

describe('Creating a space', () => {
  test('answers with the space as anyone reads it, its creator in it', async () => {
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
        ...{ user_id: ann.userId, username: 'ann' },
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
    for (const reader of [ann, ben, stranger]) expect(await read(reader, space)).toEqual(space);
    expect((await spacesOf(ann))[0]).toEqual({ space, joined_at: space.created_at });
  });

  test('gives a private one an invitation code, which nobody else sees and no other space has', async () => {
    const space = await createSpace(ann, { visibility: 'private' });
    expect(space.invitation_code).toMatch(/^[\w-]{22,64}$/);
    await join(ben, space);
    expect(await read(ben, space)).toEqual({
      ...space,
      participant_count: 2,
      invitation_code: null,
    });
    expect((await spacesOf(ben))[0]?.space.invitation_code).toBeNull();
    expect((await read(ann, space)).invitation_code).toBe(space.invitation_code);
    const other = await createSpace(ann, { visibility: 'private' });
    expect(other.invitation_code).not.toBe(space.invitation_code);
  });

  test('keeps the text as it was written, but for blanks around it and the kind of line breaks', async () => {
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

  test('takes each tag once, in its first spelling and without its #, in the order given', async () => {
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

  test('counts lengths in code points', async () => {
    const longest = {
      ...{ title: '🫖'.repeat(120), description: '🫖'.repeat(500) },
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
    ['a title of two lines, parted by U+2028', 'title', 'two\u2028lines'],
    ['a control character in the title', 'title', 'bell \x07'],
    ['a description of 501 code points', 'description', 'a'.repeat(501)],
    ['a tabulator in the description', 'description', 'tab\tstop'],
    ['an escape sequence in the description', 'description', 'red \x1B[31m'],
    ['an unknown visibility', 'visibility', 'secret'],
    ['a visibility in capitals', 'visibility', 'Public'],
    ['an empty visibility', 'visibility', ''],
    ['eleven tags', 'tags', Array.from({ length: 11 }, (_, i) => `tag ${i}`)],
    ['a tag of 65 code points', 'tags/1', ['fine', 'a'.repeat(65)]],
    ['an empty tag', 'tags/0', ['']],
    ['a tag of nothing but #', 'tags/2', ['one', 'two', ' # ']],
    ['an invisible tag', 'tags/0', ['\u200B']],
    ['a control character in a tag', 'tags/1', ['one', 'two\x7F']],
  ])('refuses %s', async (_, pointer, value) => {
    const count = (await spacesOf(ann)).length;
    const { error, response } = await api.createSpace({
      client: ann.client,
      body: {
        ...{ title: 'Tea', description: '', visibility: 'public', tags: [] },
        ...{ [pointer.split('/')[0] as string]: value },
      },
    });
    expect(response?.status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: `/${pointer}` }] });
    expect(await spacesOf(ann)).toHaveLength(count);
  });
});

describe('A public space', () => {
  test('is read without a token, but not with a bad one', async () => {
    const space = await createSpace(ann);
    expect(await refusal(api.getSpace({ client: app.client('no-token'), path: space }))).toBe(
      '401 unauthenticated',
    );
  });

  test('shows its creator’s new name and picture at once', async () => {
    const creator = await app.register('zoe');
    const space = await createSpace(creator, { title: 'Renaming', tags: ['renamed'] });
    await join(ben, space);
    const { data } = await api.changeProfilePicture({
      client: creator.client,
      body: { avatar: await picture() },
    });
    await api.changeUsername({ client: creator.client, body: { username: 'Zoë.2' } });
    const expected = {
      user_id: creator.userId,
      username: 'Zoë.2',
      profile_picture: data?.profile_picture,
    };
    expect(expected.profile_picture).not.toBe(space.creator.profile_picture);
    expect((await read(stranger, space)).creator).toEqual(expected);
    expect((await spacesOf(ben))[0]?.space.creator).toEqual(expected);
    for (const path of ['/api/spaces/search?q=renaming', '/api/spaces/tag/renamed']) {
      expect(await (await app.fetch(path)).json()).toMatchObject([{ creator: expected }]);
    }
  });
});

describe('A private space', () => {
  let space: Space;
  let message_id: string;
  let guest: TestUser;
  beforeAll(async () => {
    space = await createSpace(ann, {
      ...{ title: 'Quincunx', description: 'Zygomorphic', visibility: 'private' as const },
      tags: ['quincuncial'],
    });
    ({ message_id } = await send(ann, space, 'Nobody hears this.'));
    guest = await app.register('guest');
    await join(guest, space);
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
  const expectHidden = async (request: (ids: Ids) => Promise<Response>) => {
    const answer = async (ids: Ids) => {
      const response = await request(ids);
      expect(response.status).toBe(404);
      return { ...(await response.json()), request_id: '' };
    };
    // The wording does not distinguish it from a space that never existed.
    expect(await answer({ space_id: space.space_id, message_id })).toEqual(
      await answer({ space_id: 'no-space', message_id: 'no-message' }),
    );
  };

  test('is hidden by operations on spaces, messages and appreciations', () => {
    const ids = operationsOnIt.map(({ operationId }) => operationId);
    expect(ids).toEqual(expect.arrayContaining(['getSpace', 'sendMessage', 'appreciateMessage']));
    expect(openOperations.map(({ operationId }) => operationId)).toContain('listMessages');
  });
  test.each(openOperations)('does not exist for strangers: $operationId', (operation) =>
    expectHidden(sendAs({}, operation)),
  );
  test.each(operationsOnIt)('does not exist for other users: $operationId', (operation) =>
    expectHidden(sendAs(ben.headers, operation)),
  );
  test('does not exist for other users who guess its invitation code', () =>
    expectHidden(({ space_id }) =>
      app.fetch(`/api/participations/${space_id}`, {
        method: 'PUT',
        headers: { ...ben.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ invitation_code: 'guess' }),
      }),
    ));

  test('is found neither by its words nor by its tag, not even by its participants', async () => {
    for (const q of ['quincunx', 'Zygomorphic', 'quin', 'quincunc']) {
      expect(await found(q)).toEqual([]);
      expect((await api.searchSpaces({ client: ann.client, query: { q } })).data).toEqual([]);
    }
    expect(await tagged('quincuncial')).toEqual([]);
  });

  test('is readable by its participants', async () => {
    expect(await read(guest, space)).toMatchObject({ title: 'Quincunx', participant_count: 2 });
    const { data } = await api.listMessages({
      client: guest.client,
      query: { space_id: space.space_id },
    });
    expect(data).toMatchObject([{ message_id, text: 'Nobody hears this.' }]);
  });

  test('does not exist for users who left until they join again', async () => {
    await leave(guest, space);
    for (const operation of operationsOnIt) await expectHidden(sendAs(guest.headers, operation));
    await join(guest, space);
    expect(await read(guest, space)).toMatchObject({ participant_count: 2 });
  });

  test('lets participants join again without a code', async () => {
    const { data } = await api.joinSpace({ client: guest.client, path: space });
    expect(data?.space.participant_count).toBe(2);
  });
});

describe('Joining', () => {
  let space: Space;
  let carl: TestUser;
  beforeEach(async () => {
    space = await createSpace(ann);
    carl = await app.register();
  });

  test('answers with the space and the moment; joining again changes nothing', async () => {
    const first = await api.joinSpace({ client: carl.client, path: space, throwOnError: true });
    expect(first.data).toEqual({
      space: { ...space, participant_count: 2 },
      joined_at: expect.any(String),
    });
    expect(Date.parse(first.data.joined_at)).toBeGreaterThanOrEqual(Date.parse(space.created_at));
    await sleep(2);
    const second = await api.joinSpace({ client: carl.client, path: space, throwOnError: true });
    expect(second.data).toEqual(first.data);
    expect(await spacesOf(carl)).toEqual([first.data]);
  });

  test('takes a body or none, and asks for no code where the space is public', async () => {
    const { client } = carl;
    for (const body of [undefined, {}, { invitation_code: 'whatever' }]) {
      const { response } = await api.joinSpace({ client, path: space, ...(body && { body }) });
      expect(response?.status).toBe(200);
    }
    expect((await read(carl, space)).participant_count).toBe(2);
  });

  test('counts once, however many requests ask for it at once', async () => {
    await Promise.all(Array.from({ length: 12 }, () => join(carl, space)));
    expect((await read(carl, space)).participant_count).toBe(2);
    await Promise.all(Array.from({ length: 12 }, () => leave(carl, space)));
    expect((await read(carl, space)).participant_count).toBe(1);
  });

  test('refuses an invitation code that none can be', async () => {
    for (const invitation_code of ['', 'a'.repeat(65)]) {
      const call = api.joinSpace({ client: carl.client, path: space, body: { invitation_code } });
      expect(await refusal(call)).toBe('400 invalid_request');
    }
  });
});

describe('Leaving', () => {
  let space: Space;
  let carl: TestUser;
  beforeEach(async () => {
    space = await createSpace(ann);
    carl = await app.register();
  });

  const participation = () =>
    app.context.engine.db
      .selectFrom('participations')
      .innerJoin('users', 'users.id', 'participations.user')
      .innerJoin('spaces', 'spaces.id', 'participations.space')
      .select(['joined_at', 'left_at'])
      .where('user_id', '=', carl.userId)
      .where('space_id', '=', space.space_id)
      .executeTakeFirst();

  test('of a space that one is not in changes nothing', async () => {
    await leave(carl, space);
    expect(await read(carl, space)).toEqual(space);
    expect(await participation()).toBeUndefined();
  });

  test('keeps that one had joined, and when one left', async () => {
    await join(carl, space);
    const joined = await participation();
    await leave(carl, space);
    const left = await participation();
    expect(left).toEqual({ ...joined, left_at: expect.any(String) });
    expect(await spacesOf(carl)).toEqual([]);
    expect(await read(carl, space)).toEqual(space);
    await sleep(2);
    await leave(carl, space);
    expect(await participation()).toEqual(left);
    expect((await read(carl, space)).participant_count).toBe(1);
  });

  test('is not for ever', async () => {
    await join(carl, space);
    const before = await participation();
    await leave(carl, space);
    await sleep(2);
    await join(carl, space);
    const after = await participation();
    expect(after?.left_at).toBeNull();
    expect(Date.parse(after?.joined_at ?? '')).toBeGreaterThan(Date.parse(before?.joined_at ?? ''));
    expect(await spacesOf(carl)).toMatchObject([
      { space: { space_id: space.space_id, participant_count: 2 }, joined_at: after?.joined_at },
    ]);
  });

  test('leaves one’s messages where they are', async () => {
    await join(carl, space);
    await send(carl, space, 'I was here.');
    await leave(carl, space);
    const { data } = await api.listMessages({
      client: stranger.client,
      query: { space_id: space.space_id },
    });
    expect(data).toMatchObject([{ text: 'I was here.', author: { user_id: carl.userId } }]);
    const body = { space_id: space.space_id, text: 'And again.' };
    expect(await refusal(api.sendMessage({ client: carl.client, body }))).toBe(
      '403 not_a_participant',
    );
  });

  test('is not for the creator', async () => {
    const call = api.leaveSpace({ client: ann.client, path: space });
    expect(await refusal(call)).toBe('409 creator_cannot_leave');
    expect((await read(ann, space)).participant_count).toBe(1);
  });
});

describe('The list of one’s spaces', () => {
  let dora: TestUser;
  let spaces: Space[];
  beforeAll(async () => {
    dora = await app.register('dora');
    spaces = [];
    for (const i of Array(7).keys()) {
      spaces.push(await createSpace(i % 2 ? ann : dora, { title: `Space ${i}` }));
      if (i % 2) await join(dora, spaces.at(-1) as Space);
    }
    await leave(dora, spaces[1] as Space);
    await leave(dora, spaces[5] as Space);
    await join(dora, spaces[1] as Space);
    // As if the first four had been joined in one millisecond.
    const { joined_at } = (await spacesOf(dora)).at(-1) as Participation;
    await app.context.engine.db
      .updateTable('participations')
      .set({ joined_at })
      .where('space', 'in', (eb) =>
        eb.selectFrom('spaces').select('id').where('title', 'in', titles.slice(2)),
      )
      .execute();
  });

  const titles = ['Space 1', 'Space 6', 'Space 4', 'Space 3', 'Space 2', 'Space 0'];

  test('has those that one is in, the last joined first', async () => {
    expect((await spacesOf(dora)).map(({ space }) => space.title)).toEqual(titles);
  });

  test.each([1, 2, 3, 5, 6, 7])('is the same in pages of %i', async (limit) => {
    const path = `/api/participations?limit=${limit}`;
    const pages = await readPages<Participation>(app, path, { headers: dora.headers });
    expect(pages.map((page) => page.length)).toEqual(
      Array.from({ length: Math.ceil(6 / limit) }, (_, i) => Math.min(limit, 6 - i * limit)),
    );
    expect(pages.flat().map(({ space }) => space.title)).toEqual(titles);
  });

  test('repeats nothing when one joins another between two pages', async () => {
    const first = await app.fetch('/api/participations?limit=3', { headers: dora.headers });
    const link = /<(.+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const space = await createSpace(dora, { title: 'A new one' });
    const [rest] = await readPages<Participation>(app, link, { headers: dora.headers });
    expect(rest?.map(({ space }) => space.title)).toEqual(titles.slice(3));
    await remove(dora, space);
  });

  test.each(['x', 'WzFd', 'WyIyMDI2LTAxLTAxIl0', 'WyJcdTAwMDAiLDFd', 'bnVsbA', 'a b'])(
    'does not begin at %j',
    async (cursor) => {
      const call = api.listParticipations({ client: dora.client, query: { cursor } });
      expect(await refusal(call)).toBe('400 invalid_cursor');
    },
  );
});

describe('Changing a space', () => {
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
  ])('to %j leaves the rest as it was', async (update) => {
    const changed = await change(ann, space, update);
    const code = update.visibility === 'private' ? expect.any(String) : null;
    expect(changed).toEqual({ ...space, ...update, invitation_code: code });
    expect(await read(ann, space)).toEqual(changed);
    await remove(ann, space);
  });

  test('can give it other tags, or none', async () => {
    const named = ({ tags }: Space) => tags.map(({ tag_name }) => tag_name);
    const [, paper] = space.tags;
    const changed = await change(ann, space, { tags: ['Paper', 'string'] });
    expect(named(changed)).toEqual(['Paper', 'string']);
    expect(changed.tags[0]?.tag_id).toBe(paper?.tag_id);
    expect(await tagged('wind')).not.toContain('Kites');
    expect(await tagged('string')).toContain('Kites');
    expect(named(await change(ann, space, { tags: [] }))).toEqual([]);
    expect(await tagged('string')).not.toContain('Kites');
  });

  test('forgets the tags that no space carries any more, and only those', async () => {
    const keys = async () => {
      const rows = await app.context.engine.db.selectFrom('tags').select('tag_key').execute();
      return rows.map(({ tag_key }) => tag_key);
    };
    await change(ann, space, { tags: ['dodecahedron'] });
    const other = await createSpace(ben, { tags: ['Dodecahedron', 'icosahedron'] });
    await change(ann, space, { tags: ['tetrahedron'] });
    expect(await keys()).toEqual(
      expect.arrayContaining(['dodecahedron', 'icosahedron', 'tetrahedron']),
    );
    await remove(ben, other);
    expect(await keys()).not.toContain('dodecahedron');
    expect(await keys()).not.toContain('icosahedron');
    expect(await keys()).toContain('tetrahedron');
    await change(ann, space, { tags: [] });
    expect(await keys()).not.toContain('tetrahedron');
  });

  test('takes it out of every search when it becomes private, and back in afterwards', async () => {
    await change(ann, space, { title: 'Sextant', tags: ['navigation'] });
    expect([await found('sextant'), await tagged('navigation')]).toEqual([
      ['Sextant'],
      ['Sextant'],
    ]);
    await change(ann, space, { visibility: 'private' });
    expect([await found('sextant'), await tagged('navigation')]).toEqual([[], []]);
    await change(ann, space, { title: 'Octant', description: 'For sailors.' });
    expect([await found('octant'), await found('sailors')]).toEqual([[], []]);
    await change(ann, space, { visibility: 'public' });
    expect([await found('octant sailors'), await tagged('navigation')]).toEqual([
      ['Octant'],
      ['Octant'],
    ]);
    expect(await found('sextant')).toEqual([]);
  });

  test('gives a new invitation code each time that it becomes private, and keeps it while it is', async () => {
    const codes = [];
    for (const visibility of ['private', 'private', 'public', 'private'] as const) {
      codes.push((await change(ann, space, { visibility, title: 'Kites' })).invitation_code);
    }
    const [first, same, none, second] = codes;
    expect(first).toMatch(/^[\w-]{22,}$/);
    expect(same).toBe(first);
    expect(none).toBeNull();
    expect(second).toMatch(/^[\w-]{22,}$/);
    expect(second).not.toBe(first);
    const call = api.joinSpace({
      client: ben.client,
      path: space,
      body: { invitation_code: String(first) },
    });
    expect(await refusal(call)).toBe('404 space_not_found');
  });

  test('keeps those who take part', async () => {
    await join(ben, space);
    await change(ann, space, { visibility: 'private' });
    expect(await read(ben, space)).toMatchObject({ visibility: 'private', participant_count: 2 });
  });

  test('is for its creator alone', async () => {
    await join(ben, space);
    const call = () =>
      api.updateSpace({ client: ben.client, path: space, body: { title: 'Mine' } });
    expect(await refusal(call())).toBe('403 not_space_creator');
    await change(ann, space, { visibility: 'private' });
    expect(await refusal(call())).toBe('403 not_space_creator');
    expect((await read(ann, space)).title).toBe('Kites');
  });

  test.each([
    ['nothing', '', {}],
    ['a blank title', '/title', { title: ' ' }],
    ['a long title', '/title', { title: 'a'.repeat(121), description: 'new' }],
    ['NUL', '/description', { description: '\x00' }],
    ['an empty tag', '/tags/1', { description: 'new', tags: ['new', '#'] }],
    ['a new participant_count', '/participant_count', { participant_count: 1000 }],
    ['a new creator', '/creator', { creator: 'ben' }],
    ['a new invitation_code', '/invitation_code', { invitation_code: 'let me in' }],
  ])('to %s is refused, and nothing changes', async (_, pointer, body) => {
    const { error, response } = await api.updateSpace({
      client: ann.client,
      path: space,
      body: body as SpaceUpdate,
    });
    expect(response?.status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
    expect(await read(ann, space)).toEqual(space);
  });
});

describe('Deleting a space', () => {
  test('takes everything in it along, for everyone', async () => {
    const space = await createSpace(ann, { title: 'Astrolabe', tags: ['brass'] });
    await join(ben, space);
    const { message_id } = await send(ben, space, 'How old is it?');
    await api.appreciateMessage({ client: ann.client, path: { message_id }, throwOnError: true });
    await remove(ann, space);

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
      expect(await refusal(call)).toBe('404 space_not_found');
    }
    const path = { message_id };
    expect(await refusal(api.deleteMessage({ client, path }))).toBe('404 message_not_found');
    expect([await found('astrolabe'), await tagged('brass')]).toEqual([[], []]);
    for (const user of [ann, ben]) {
      const ids = (await spacesOf(user)).map((each) => each.space.space_id);
      expect(ids).not.toContain(space.space_id);
    }
  });

  test('is for its creator alone', async () => {
    const space = await createSpace(ann);
    await join(ben, space);
    const call = api.deleteSpace({ client: ben.client, path: space });
    expect(await refusal(call)).toBe('403 not_space_creator');
    expect(await read(stranger, space)).toMatchObject({ participant_count: 2 });
  });
});

describe('An identifier', () => {
  const unknown = 'a'.repeat(64);

  test.each([
    ['of 65 characters', 'a'.repeat(65)],
    ['with a blank', 'no id'],
    ['with an accent', 'café'],
    ['with a slash', 'a/b'],
    ['with a quote', "'--"],
    ['with NUL', 'a\0'],
  ])('%s is refused', async (_, space_id) => {
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

  test('that nobody has finds nothing', async () => {
    const { client } = ann;
    const path = { space_id: unknown };
    for (const call of [
      api.getSpace({ client, path }),
      api.getSpace({ client: stranger.client, path }),
      api.updateSpace({ client, path, body: { title: 'x' } }),
      api.deleteSpace({ client, path }),
      api.joinSpace({ client, path }),
      api.leaveSpace({ client, path }),
    ]) {
      expect(await refusal(call)).toBe('404 space_not_found');
    }
  });
});

test('Strangers create, change, join and leave nothing', async () => {
  const space = await createSpace(ann);
  const { client } = stranger;
  const body = { title: 'x', description: '', visibility: 'public' as const, tags: [] };
  for (const call of [
    api.createSpace({ client, body }),
    api.updateSpace({ client, path: space, body }),
    api.deleteSpace({ client, path: space }),
    api.listParticipations({ client }),
    api.joinSpace({ client, path: space }),
    api.leaveSpace({ client, path: space }),
  ]) {
    expect(await refusal(call)).toBe('401 unauthenticated');
  }
  expect(await read(stranger, space)).toEqual(space);
});
