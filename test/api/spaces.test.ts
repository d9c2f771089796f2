import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Space, SpaceUpdate } from '../../generated/types.gen.ts';
import { readSpace } from '../../server/spaces/spaces.ts';
import { withCallbackAfterQuery } from '../support/after-query.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import {
  createSpace,
  getSpace,
  joinSpace,
  listParticipations,
  spaceCreation,
} from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let ben: TestUser;
let stranger: Pick<TestUser, 'client'>;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
  stranger = { client: app.client() };
});

const updateSpace = async ({ client }: TestUser, { space_id }: Space, body: SpaceUpdate) =>
  (await api.updateSpace({ client, path: { space_id }, body, throwOnError: true })).data;

const deleteSpace = ({ client }: TestUser, { space_id }: Space) =>
  api.deleteSpace({ client, path: { space_id }, throwOnError: true });

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
      posting: 'participants',
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
      participation: { joined_at: space.created_at, role: 'creator' },
    });
    expect(await getSpace(ann, space)).toEqual(space);
    expect((await listParticipations(ann))[0]).toMatchObject({
      space,
      joined_at: space.created_at,
    });
  });

  test('returns a unique invitation code for a private space, to the creator only', async () => {
    const space = await createSpace(ann, { visibility: 'private' });
    expect(space.invitation_code).toMatch(/^[\w-]{22,64}$/);
    await joinSpace(ben, space);
    expect(await getSpace(ben, space)).toEqual({
      ...space,
      participant_count: 2,
      invitation_code: null,
      participation: expect.anything(),
    });
    expect((await listParticipations(ben))[0]?.space.invitation_code).toBeNull();
    expect((await getSpace(ann, space)).invitation_code).toBe(space.invitation_code);
    const other = await createSpace(ann, { visibility: 'private' });
    expect(other.invitation_code).not.toBe(space.invitation_code);
  });

  test('trims texts, normalises line breaks and makes no other changes', async () => {
    const space = await createSpace(ann, {
      title: ' 100 % “plain”  <b>text</b> \\ 🫖 ',
      description: '\r\n one\r\ntwo\rthree\n\n "four"',
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
    ['an unknown posting', 'posting', 'nobody'],
    ['eleven tags', 'tags', Array.from({ length: 11 }, (_, i) => `tag ${i}`)],
    ['a tag of 65 code points', 'tags/1', ['fine', 'a'.repeat(65)]],
    ['an empty tag', 'tags/0', ['']],
    ['a tag that consists of #', 'tags/2', ['one', 'two', ' # ']],
    ['an invisible tag', 'tags/0', ['\u200B']],
    ['a control character in a tag', 'tags/1', ['one', 'two\x7F']],
    ['a right-to-left override in the title', 'title', 'abc\u202Egnp.exe'],
    ['an isolate in the title', 'title', 'abc\u2067'],
    ['an embedding in the description', 'description', 'abc\u202B'],
    ['an override in a tag', 'tags/0', ['abc\u202D']],
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
  test('returns an update during the request completely or not at all', async () => {
    const path = await createSpace(ann, { title: 'Old', tags: ['old'] });
    let updates = 0;
    const { engine } = app.context;
    const db = withCallbackAfterQuery(engine.db, async () => {
      updates += 1;
      const name = `new ${updates}`;
      await updateSpace(ann, path, { title: name, tags: [name] });
    });
    const context = { ...app.context, engine: { ...engine, db } };
    const { title, tags } = (await readSpace(context, null, path.space_id)).space;
    expect(updates).toBeGreaterThan(0);
    expect(tags).toMatchObject([{ tag_name: title }]);
  });
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
    { posting: 'moderators' as const },
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
