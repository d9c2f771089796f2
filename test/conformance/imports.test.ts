import { expect, test } from 'vitest';
import { createSpace } from '../support/spaces.ts';
import { startServices } from './services.ts';

test('New tags get ids that differ from those of imported tags', async () => {
  const created_at = '2026-01-01T00:00:00.000Z';
  await using services = await startServices([
    { type: 'user', user_id: 'u', username: 'someone', email: 'someone@example.com', created_at },
    {
      type: 'space',
      creator_id: 'u',
      title: 'Tea',
      tags: ['a', 'b', 'c'],
      tag_ids: [5, 4, 9],
      created_at,
    },
    { type: 'space', creator_id: 'u', title: 'Coffee', tags: ['a', 'd'], created_at },
  ]);
  for (const service of [services.sqlite, services.postgresql]) {
    const user = await service.register();
    const ids = new Set([4, 5, 9]);
    for (const tags of [
      ['e', 'f'],
      ['g', 'h', 'i'],
      ['j', 'k', 'l', 'm'],
    ]) {
      const created = await createSpace(user, { tags });
      for (const { tag_id } of created.tags) ids.add(tag_id);
    }
    expect(ids.size).toBe(12);
  }
});
