import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { CountedTag, Space } from '../../generated/types.gen.ts';
import { restoreAccount, suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { removeSpace } from '../../server/spaces/space-deletion.ts';
import type { TestUser } from '../support/client.ts';
import { readPages } from '../support/pages.ts';
import { createSpace, joinSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let ben: TestUser;

beforeAll(async () => {
  [ann, ben] = [await app.register(), await app.register()];
});

/** Returns all tags with a prefix. */
async function listTags(prefix: string, limit = 100): Promise<CountedTag[]> {
  const query = new URLSearchParams({ prefix, limit: String(limit) });
  return (await readPages<CountedTag>(app, `/api/tags?${query}`)).flat();
}

/** Returns the names of all tags with a prefix, with their counts. */
const counts = async (prefix: string, limit?: number) =>
  (await listTags(prefix, limit)).map(({ tag_name, space_count }) => `${tag_name} ${space_count}`);

const deleteSpace = ({ client }: TestUser, path: Space) =>
  api.deleteSpace({ client, path, throwOnError: true });

describe('listTags', () => {
  test('returns the most used tags first, then the newest, on any page', async () => {
    const tags = ['mint', 'mauve', 'magenta', 'maroon', 'mint green'];
    for (const [i] of tags.entries()) await createSpace(ann, { tags: tags.slice(0, i + 1) });
    await createSpace(ann, { tags: ['mango', 'mustard'] });
    const expected = [
      ...['mint 5', 'mauve 4', 'magenta 3', 'maroon 2'],
      ...['mustard 1', 'mango 1', 'mint green 1'],
    ];
    for (const limit of [1, 3, 7]) expect(await counts('m', limit)).toEqual(expected);
    expect(await counts('ma')).toEqual(['mauve 4', 'magenta 3', 'maroon 2', 'mango 1']);
    expect(await counts('mint')).toEqual(['mint 5', 'mint green 1']);
    expect(await counts('mint g')).toEqual(['mint green 1']);
    expect(await counts('mint greenish')).toEqual([]);
  });

  test('returns all tags without a prefix', async () => {
    await createSpace(ann, { tags: ['all of them'] });
    const { data } = await api.listTags({ client: app.client(), throwOnError: true });
    expect(data.items.map(({ tag_name }) => tag_name)).toContain('all of them');
    expect(await listTags(' #')).toEqual(await listTags(''));
  });

  test.each(['Élan', '#elan', '##ELÁ', ' é'])(
    'folds the prefix %j like the tag search',
    async (prefix) => {
      const space = await createSpace(ann, { tags: ['élan vital'] });
      expect(await counts(prefix)).toEqual(['élan vital 1']);
      await deleteSpace(ann, space);
    },
  );

  test('compares at most 30 characters, of which an emoji is one', async () => {
    const tag = '🍵'.repeat(40);
    await createSpace(ann, { tags: [tag] });
    for (const length of [1, 29, 30, 31, 40]) {
      expect(await counts('🍵'.repeat(length))).toEqual([`${tag} 1`]);
    }
    expect(await counts(`${'🍵'.repeat(29)}x`)).toEqual([]);
  });

  test('spells a tag like its most popular public space', async () => {
    const names = async () => (await listTags('yoga')).map(({ tag_name }) => tag_name);
    await createSpace(ann, { tags: ['yOgA'], visibility: 'private' });
    expect(await names()).toEqual([]);
    const first = await createSpace(ann, { tags: ['Yoga'] });
    const second = await createSpace(ann, { tags: ['YOGA'] });
    expect(await names()).toEqual(['YOGA']);
    await joinSpace(ben, first);
    expect(await names()).toEqual(['Yoga']);
    await deleteSpace(ann, first);
    expect(await names()).toEqual(['YOGA']);
    await deleteSpace(ann, second);
    expect(await names()).toEqual([]);
  });

  test('returns the id that spaces have', async () => {
    const { tags } = await createSpace(ann, { tags: ['Identity'] });
    expect(await listTags('identity')).toEqual([{ ...tags[0], space_count: 1 }]);
  });

  test('counts public spaces after every kind of change', async () => {
    const { engine } = app.context;
    const gone = await app.register();
    const [kept, edited] = [
      await createSpace(ann, { tags: ['zinc', 'zeal'] }),
      await createSpace(gone, { tags: ['Zinc'] }),
    ];
    const removed = await createSpace(ann, { tags: ['zinc'] });
    expect(await counts('z')).toEqual(['zinc 3', 'zeal 1']);
    const update = ({ client }: TestUser, path: Space, body: object) =>
      api.updateSpace({ client, path, body, throwOnError: true });

    await update(gone, edited, { title: 'Renamed', tags: ['zinc', 'zeal', 'ZEAL'] });
    expect(await counts('z')).toEqual(['zinc 3', 'zeal 2']);
    await update(ann, kept, { visibility: 'private' });
    expect(await counts('z')).toEqual(['zinc 2', 'zeal 1']);
    await update(ann, kept, { tags: ['zest'] });
    expect(await counts('z')).toEqual(['zinc 2', 'zeal 1']);
    await update(ann, kept, { visibility: 'public' });
    expect(await counts('z')).toEqual(['zinc 2', 'zest 1', 'zeal 1']);
    await removeSpace(engine, removed.space_id);
    expect(await counts('z')).toEqual(['zest 1', 'zinc 1', 'zeal 1']);
    await suspendAccount(engine, gone.userId);
    expect(await counts('z')).toEqual(['zest 1']);
    await restoreAccount(engine, gone.userId);
    expect(await counts('z')).toEqual(['zest 1', 'zinc 1', 'zeal 1']);
    const { email, password } = gone;
    const { data } = await api.login({
      client: app.client(),
      body: { email, password },
      throwOnError: true,
    });
    await api.deleteAccount({ client: app.client(data.access_token), throwOnError: true });
    expect(await counts('z')).toEqual(['zest 1']);
    await deleteSpace(ann, kept);
    expect(await counts('z')).toEqual([]);
  });
});
