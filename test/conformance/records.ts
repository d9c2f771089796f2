import type { DataRecord } from '../../server/import-export/records.ts';
import type { SpaceRecord } from '../../server/import-export/spaces.ts';
import { sampleRecords } from '../../server/sample/sample.ts';
import { type RandomInteger, randomIntegers } from '../support/random.ts';
import { spaceOf } from '../trials/bench/data.ts';

const MINUTE_MS = 60_000;

/** Returns records of all types for a few spaces. Many of their times are equal. */
export function recordsToList(now: Date): DataRecord[] {
  const random = randomIntegers(5);
  const time = () => new Date(now.getTime() - random(40) * MINUTE_MS).toISOString();
  const created_at = new Date(now.getTime() - 60 * MINUTE_MS).toISOString();
  const users = Array.from({ length: 60 }, (_, i) => `u${i}`);
  const records: DataRecord[] = users.map((user_id) => userRecord(user_id, created_at));
  for (const user_id of users.slice(0, 6)) {
    const others = users.filter((each) => each !== user_id);
    for (const blocked_id of pickDistinct(random, others, 15)) {
      records.push({ type: 'block', user_id, blocked_id, created_at: time() });
    }
  }
  for (let i = 0; i < 30; i += 1) {
    const { title, description, tags } = spaceOf(i);
    const space_id = `s${i}`;
    const creator_id = `u${i % 6}`;
    const visibility = i % 5 === 4 ? 'private' : 'public';
    const posting = i % 7 === 6 ? 'moderators' : 'participants';
    const access = { visibility, posting } as const;
    records.push({ type: 'space', space_id, creator_id, title, description, ...access, tags });
    const others = pickDistinct(
      random,
      users.filter((user_id) => user_id !== creator_id),
      random(50),
    );
    for (const user_id of others) {
      const left_at = random(4) === 0 ? time() : null;
      const removed_at = left_at !== null && random(2) === 0 ? left_at : null;
      const joined_at = time();
      const is_moderator = left_at === null && random(8) === 0;
      const removed_by = removed_at && creator_id;
      const times = { joined_at, left_at, removed_at, removed_by };
      records.push({ type: 'participant', space_id, user_id, ...times, is_moderator });
    }
    const people = [creator_id, ...others];
    const messages = random(60);
    for (let j = 0; j < messages; j += 1) {
      const message_id = `m${i}-${j}`;
      const author_id = pick(random, people);
      const text = `${title} ${random(1_000)}\n東京 🍞`;
      records.push({ type: 'message', message_id, space_id, author_id, text, created_at: time() });
      for (const user_id of pickDistinct(random, people, random(3))) {
        if (user_id !== author_id) records.push({ type: 'appreciation', message_id, user_id });
      }
    }
  }
  return complete([...records, ...sampleRecords('', now)], created_at);
}

/** Adds ids, times and codes that an import would otherwise generate differently for each database. */
function complete(records: DataRecord[], time: string): DataRecord[] {
  const tagIds = new Map<string, number>();
  const tagIdOf = (tag: string) => {
    const key = tag.toLowerCase();
    // Descending, so that the ids are not in the order in which the tags were added.
    const id = tagIds.get(key) ?? 1_000_000 - tagIds.size;
    tagIds.set(key, id);
    return id;
  };
  return records.map((record) => {
    if (record.type === 'user') {
      // The sample's hash is empty, and imports reject that.
      const { password_hash: _, ...user } = record;
      return user;
    }
    if (record.type === 'appreciation') return { created_at: time, ...record };
    if (record.type !== 'space') return record;
    const { tags = [] } = record;
    const space: SpaceRecord = { ...record, tags, tag_ids: tags.map(tagIdOf) };
    space.created_at ??= time;
    if (space.visibility === 'private')
      space.invitation_code ??= `invitation-to-${space.space_id}`.padEnd(30, '-');
    return space;
  });
}

function userRecord(user_id: string, created_at: string): DataRecord {
  // Letters without confusables, so that usernames are unique.
  const letters = [...user_id.slice(1)].map((digit) => 'abcdefghjk'[Number(digit)]);
  const username = `generated ${letters.join('')}`;
  return { type: 'user', user_id, username, email: `${user_id}@example.org`, created_at };
}

function pick<T>(random: RandomInteger, list: readonly T[]): T {
  return list[random(list.length)] as T;
}

/** Returns distinct random elements of a list. */
function pickDistinct<T>(random: RandomInteger, list: readonly T[], count: number): T[] {
  const rest = [...list];
  return Array.from({ length: Math.min(count, list.length) }, () =>
    rest.splice(random(rest.length), 1),
  ).flat();
}
