import * as api from '../../generated/sdk.gen.ts';
import type { Participation, ParticipationPage } from '../../generated/types.gen.ts';
import type { TestUser } from './client.ts';

/** A client that follows the list of spaces of a user, and keeps it by what the contract says. */
export class ListFollower {
  readonly #user: Pick<TestUser, 'client'>;
  readonly #lossRate: number;
  readonly #known = new Map<string, Participation>();
  after = '';

  /** @param lossRate the share of changes that it does not apply, to check that a comparison finds this */
  constructor(user: Pick<TestUser, 'client'>, lossRate = 0) {
    this.#user = user;
    this.#lossRate = lossRate;
  }

  /** Reloads the list. */
  async start(): Promise<this> {
    this.#known.clear();
    const pages = await readList(this.#user);
    for (const each of pages.items) this.#known.set(each.space.space_id, each);
    this.after = pages.newer_cursor;
    return this;
  }

  /** Requests one page, and applies it. */
  async read(query: { wait?: number; limit?: number } = {}): Promise<ParticipationPage> {
    const { data } = await api.listParticipations({
      client: this.#user.client,
      query: { after: this.after, ...query },
      throwOnError: true,
    });
    const isLost = () => Math.random() < this.#lossRate;
    for (const each of data.items) if (!isLost()) this.#known.set(each.space.space_id, each);
    for (const spaceId of data.left_space_ids) if (!isLost()) this.#known.delete(spaceId);
    this.after = data.newer_cursor;
    if (!data.is_complete) await this.start();
    return data;
  }

  /** Reads until nothing has changed. Returns the ids of all spaces that have changed, in this order. */
  async readAll(query: { limit?: number } = {}): Promise<string[]> {
    const ids: string[] = [];
    while (true) {
      const { items, left_space_ids, is_complete } = await this.read(query);
      if (items.length + left_space_ids.length === 0 && is_complete) return ids;
      ids.push(...items.map(({ space }) => space.space_id), ...left_space_ids);
    }
  }

  /** What the follower knows, by space. */
  list(): Participation[] {
    return sortBySpace([...this.#known.values()]);
  }
}

/** Returns the whole list of a user, by space. */
export async function freshList(user: Pick<TestUser, 'client'>): Promise<Participation[]> {
  return sortBySpace((await readList(user)).items);
}

async function readList({ client }: Pick<TestUser, 'client'>) {
  const items: Participation[] = [];
  let newer_cursor: string | undefined;
  let cursor: string | undefined;
  do {
    const query = { limit: 100, ...(cursor && { cursor }) };
    const { data } = await api.listParticipations({ client, query, throwOnError: true });
    items.push(...data.items);
    newer_cursor ??= data.newer_cursor;
    cursor = data.next_cursor ?? undefined;
  } while (cursor);
  return { items, newer_cursor };
}

function sortBySpace(list: Participation[]): Participation[] {
  return list.sort((a, b) => (a.space.space_id < b.space.space_id ? -1 : 1));
}
