import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, createConfig } from '../../../generated/client/index.ts';
import * as api from '../../../generated/sdk.gen.ts';
import type { Message, MessagePage, Space } from '../../../generated/types.gen.ts';
import { register, type TestUser } from '../../support/client.ts';
import { createTestDatabase, isPostgresql } from '../../support/databases.ts';
import { draw, drawName } from '../../support/drawing.ts';
import { EARLY_INDEX } from '../../support/early-index.ts';
import { type Server, startServer } from '../../support/server.ts';
import { createSpace } from '../../support/spaces.ts';
import type { Trial } from './trial.ts';

/** Some are the beginnings of others. */
const NAMES = ['ada', 'ada lovelace', 'ada.l', 'bo', 'bob', 'bob-by'];
const WORDS = 'tea bread jazz river stone cloud harbour lantern'.split(' ');
const MAX_MESSAGES = 150;

/** Only the latest messages of a space can be unread. */
const MAX_UNREAD = 100;

const SHARES = {
  send: 30,
  edit: 14,
  delete: 8,
  rename: 3,
  leave: 2,
  join: 4,
  markRead: 5,
  jump: 20,
  search: 20,
  follow: 8,
  count: 6,
};

export const conversation: Trial = {
  promise:
    'Messages, replies, mentions, unread messages, searches and pages around messages are those of a model after each random operation, through two processes.',
  runsOnPostgresql: true,
  async run(scale) {
    const operations = scale === 'full' ? 10_000 : 300;
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-conversation-'));
    await using database = await createTestDatabase();
    const settings = {
      ...database.settings,
      ...EARLY_INDEX,
      DATA_DIR: dataDir,
      RATE_LIMITS: 'off',
    };
    // Machines cannot share a SQLite file.
    const workers = isPostgresql ? ['1', '1'] : ['2'];
    const servers: Server[] = [];
    try {
      for (const WORKERS of workers) servers.push(await startServer({ ...settings, WORKERS }));
      const clientOf = (auth: string) =>
        createClient(
          createConfig({
            baseUrl: 'http://service',
            auth,
            fetch: (input) => {
              const request = input as Request;
              const { url } = draw(servers);
              // A new connection, so that each process serves some.
              request.headers.set('Connection', 'close');
              return fetch(new Request(request.url.replace('http://service', url), request));
            },
          }),
        );
      const users: TestUser[] = [];
      for (const name of NAMES.slice(0, 4)) {
        const user = await register((servers[0] as Server).url, name);
        users.push({ ...user, client: clientOf(user.token) });
      }
      const model = new Model(users);
      await model.start();
      for (let i = 0; i < operations; i += 1) await model.operate();
      await model.compareAll();
      await model.compareStatistics();
      return `${operations} operations: ${model.describe()}; no difference`;
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true });
    }
  },
};

interface Written {
  id: string;
  author: TestUser;
  text: string;
  created_at: string;
  isEdited: boolean;
  words: number;
  isReply: boolean;
  original: Written | null;
  mentions: ReadonlySet<string>;
}

interface Room {
  space: Space;
  /** Oldest first. */
  messages: Written[];
  /** The read positions of the participants. */
  readers: Map<string, string>;
  /** What a follower of the space knows. */
  followed: Map<string, Message>;
  after: string;
}

class Model {
  readonly #users: readonly TestUser[];
  readonly #names: Map<string, string>;
  readonly #rooms: Room[] = [];
  readonly #counts: Record<string, number> = {};

  constructor(users: readonly TestUser[]) {
    this.#users = users;
    this.#names = new Map(users.map(({ userId, username }) => [userId, username]));
  }

  async start(): Promise<void> {
    const [owner] = this.#users as [TestUser];
    for (const visibility of ['public', 'private'] as const) {
      const space = await createSpace(owner, { visibility });
      const readers = new Map<string, string>();
      const room = { space, messages: [], readers, followed: new Map(), after: '' };
      this.#rooms.push(room);
      for (const user of this.#users) await this.#join(user, room);
      room.after = (await this.#list(owner, room)).newer_cursor;
    }
  }

  describe(): string {
    return Object.entries(this.#counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  }

  async operate(): Promise<void> {
    const name = drawName(SHARES);
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
    await this.#operations[name](draw(this.#users), draw(this.#rooms));
  }

  readonly #operations: Record<keyof typeof SHARES, (user: TestUser, room: Room) => Promise<void>> =
    {
      send: (user, room) => this.#send(user, room),
      edit: async ({ client, userId }, room) => {
        const message = draw(room.messages);
        if (!message) return;
        const text = this.#drawText();
        const path = { message_id: message.id };
        const { data, response } = await api.editMessage({ client, path, body: { text } });
        const isOwn = message.author.userId === userId;
        assert.equal(response?.status, this.#statusOf(userId, room, isOwn ? 200 : 403));
        if (!data) return;
        if (text !== message.text) message.isEdited = true;
        const mentions = text === message.text ? message.mentions : this.#mentionsIn(text, room);
        Object.assign(message, { text, mentions, words: data.word_count });
        this.#compare(data, message);
      },
      delete: async ({ client, userId }, room) => {
        const message = draw(room.messages);
        if (!message) return;
        const path = { message_id: message.id };
        const { response } = await api.deleteMessage({ client, path });
        const canDelete = [message.author, this.#users[0]].some((each) => each?.userId === userId);
        // Authors can delete their messages after they have left, too.
        assert.equal(response?.status === 200, canDelete);
        if (canDelete) room.messages.splice(room.messages.indexOf(message), 1);
      },
      rename: async ({ client, userId }) => {
        const username = draw(NAMES);
        const isTaken = [...this.#names].some(([id, name]) => id !== userId && name === username);
        const { response } = await api.changeUsername({ client, body: { username } });
        assert.equal(response?.status, isTaken ? 409 : 200);
        if (!isTaken) this.#names.set(userId, username);
      },
      leave: async ({ client, userId }, { space, readers }) => {
        const { response } = await api.leaveSpace({ client, path: space });
        if (response?.status === 200) readers.delete(userId);
      },
      join: (user, room) => this.#join(user, room),
      markRead: async ({ client, userId }, { space, messages, readers }) => {
        const message = draw(messages);
        if (!message || !readers.has(userId)) return;
        const body = { message_id: message.id };
        const { data } = await api.markRead({ client, path: space, body, throwOnError: true });
        const before = readers.get(userId) as string;
        const expected = message.created_at > before ? message.created_at : before;
        assert.equal(data.read_until, expected);
        readers.set(userId, data.read_until);
      },
      jump: async (user, room) => {
        const message = draw(room.messages);
        if (!message || !this.#canRead(user.userId, room)) return;
        const limit = 1 + Math.floor(Math.random() * 12);
        const around = draw([message.id, message.created_at]);
        const page = await this.#list(user, room, { around, limit });
        const { messages } = room;
        const index = messages.indexOf(message);
        const end = Math.min(messages.length, index + 1 + Math.floor(limit / 2));
        this.#comparePage(page, messages.slice(Math.max(0, end - limit), end));
      },
      search: (user, room) => this.#search(user, room),
      follow: (user, room) => this.#follow(user, room),
      count: (user, room) => this.#compareUnread(user, room),
    };

  async #send(author: TestUser, room: Room): Promise<void> {
    const { client, userId } = author;
    const original = Math.random() < 0.5 ? draw(draw(this.#rooms).messages) : undefined;
    const text = this.#drawText();
    const { space_id } = room.space;
    const body = { space_id, text, reply_to: original?.id ?? null };
    const { data, response } = await api.sendMessage({ client, body });
    const isKnown = !original || room.messages.includes(original);
    const expected = room.readers.has(userId) ? 201 : 403;
    assert.equal(response?.status, this.#canRead(userId, room) && isKnown ? expected : 404);
    if (!data) return;
    const message: Written = {
      id: data.message_id,
      author,
      text,
      created_at: data.created_at,
      isEdited: false,
      words: data.word_count,
      isReply: original !== undefined,
      original: original ?? null,
      mentions: this.#mentionsIn(text, room),
    };
    room.messages.push(message);
    this.#compare(data, message);
    const [oldest] = room.messages;
    if (oldest && room.messages.length > MAX_MESSAGES) {
      const path = { message_id: oldest.id };
      await api.deleteMessage({ client: oldest.author.client, path, throwOnError: true });
      room.messages.shift();
    }
  }

  async #join({ client, userId }: TestUser, { space, readers }: Room): Promise<void> {
    const { invitation_code } = space;
    const body = invitation_code === null ? {} : { invitation_code };
    const { data } = await api.joinSpace({ client, path: space, body, throwOnError: true });
    readers.set(userId, data.read_until);
  }

  async #follow(user: TestUser, room: Room): Promise<void> {
    if (!this.#canRead(user.userId, room)) return;
    for (let isQuiet = false; !isQuiet; ) {
      const page = await this.#list(user, room, { after: room.after, limit: draw([1, 5, 100]) });
      const changed = [...page.items, ...page.changed_items];
      for (const each of changed) room.followed.set(each.message_id, each);
      for (const id of page.deleted_message_ids) room.followed.delete(id);
      room.after = page.newer_cursor;
      isQuiet = changed.length + page.deleted_message_ids.length === 0;
    }
    const followed = [...room.followed.values()].map(({ message_id, text, word_count }) => ({
      message_id,
      text,
      word_count,
    }));
    const expected = room.messages.map(({ id, text, words }) => ({
      message_id: id,
      text,
      word_count: words,
    }));
    assert.deepEqual(byId(followed), byId(expected));
  }

  /** Compares all pages of a search for words, a phrase, or both. The last word can be the beginning of one. */
  async #search(user: TestUser, room: Room): Promise<void> {
    const phrase = draw([[], [], [draw(WORDS), draw(WORDS)]]);
    const words = Array.from({ length: draw([1, 1, 2]) }, () => draw(WORDS));
    const last = draw([draw(WORDS).slice(0, 3), '']);
    const q = [...(phrase.length > 0 ? [`"${phrase.join(' ')}"`] : []), ...words, last].join(' ');
    if (!this.#canRead(user.userId, room)) {
      const query = { space_id: room.space.space_id, q };
      const { response } = await api.listMessages({ client: user.client, query });
      return assert.equal(response?.status, 404);
    }
    const expected = room.messages.filter(({ text }) => {
      const found = text.split(/[ ,@]+/);
      return (
        words.every((word) => found.includes(word)) &&
        found.some((word) => word.startsWith(last)) &&
        ` ${found.join(' ')} `.includes(phrase.length > 0 ? ` ${phrase.join(' ')} ` : '')
      );
    });
    const limit = draw([1, 3, 100]);
    const items: Message[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#list(user, room, { q, limit, ...(cursor && { cursor }) });
      items.push(...page.items);
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
    this.#comparePage({ items }, expected);
    this.#counts.found = (this.#counts.found ?? 0) + items.length;
  }

  async #compareUnread({ client, userId }: TestUser, room: Room): Promise<void> {
    const readUntil = room.readers.get(userId);
    if (readUntil === undefined) return;
    const path = { space_id: room.space.space_id };
    const { data } = await api.getParticipation({ client, path, throwOnError: true });
    const isUnread = ({ author, created_at }: Written) =>
      author.userId !== userId && created_at > readUntil;
    const unread = room.messages.slice(-MAX_UNREAD).filter(isUnread);
    const mentions = room.messages.filter((each) => isUnread(each) && each.mentions.has(userId));
    assert.deepEqual(
      [data.unread_count, data.unread_mentions],
      [unread.length, Math.min(mentions.length, MAX_UNREAD)],
    );
  }

  /** Compares all messages, in pages. */
  async compareAll(): Promise<void> {
    const [owner] = this.#users as [TestUser];
    for (const room of this.#rooms) {
      const items: Message[] = [];
      let cursor: string | undefined;
      do {
        const page = await this.#list(owner, room, { limit: 7, ...(cursor && { cursor }) });
        items.push(...page.items);
        cursor = page.next_cursor ?? undefined;
      } while (cursor);
      this.#comparePage({ items }, room.messages);
    }
  }

  /** Compares the statistics of the users with a recount. */
  async compareStatistics(): Promise<void> {
    for (const { client, userId } of this.#users) {
      const { data } = await api.getProfile({ client, throwOnError: true });
      const own = this.#rooms
        .flatMap(({ messages }) => messages)
        .filter(({ author }) => author.userId === userId);
      const words = own.reduce((sum, each) => sum + each.words, 0);
      assert.equal(data.stats.total_words_contributed, words);
    }
  }

  async #list({ client }: TestUser, { space }: Room, query: object = {}): Promise<MessagePage> {
    const { space_id } = space;
    const options = { client, query: { space_id, ...query }, throwOnError: true } as const;
    return (await api.listMessages(options)).data;
  }

  #comparePage({ items }: Pick<MessagePage, 'items'>, expected: readonly Written[]): void {
    assert.deepEqual(
      items.map(({ message_id }) => message_id),
      expected.map(({ id }) => id).reverse(),
    );
    for (const [i, message] of expected.entries()) {
      this.#compare(items[items.length - 1 - i] as Message, message);
    }
  }

  #compare(actual: Message, expected: Written): void {
    const { original } = expected;
    const isLeft = original && this.#rooms.some(({ messages }) => messages.includes(original));
    assert.deepEqual(
      {
        text: actual.text,
        words: actual.word_count,
        author: actual.author.username,
        isEdited: actual.edited_at !== null,
        isReply: actual.is_reply,
        original: actual.reply_to && [
          actual.reply_to.message_id,
          actual.reply_to.author.username,
          actual.reply_to.text,
        ],
        mentions: actual.mentions.map(({ username }) => username).sort(),
      },
      {
        text: expected.text,
        words: expected.words,
        author: this.#names.get(expected.author.userId),
        isEdited: expected.isEdited,
        isReply: expected.isReply,
        original: isLeft
          ? [original.id, this.#names.get(original.author.userId), original.text]
          : null,
        mentions: [...expected.mentions].map((id) => this.#names.get(id)).sort(),
      },
    );
  }

  #canRead(userId: string, { space, readers }: Room): boolean {
    return space.visibility === 'public' || readers.has(userId);
  }

  /** Returns the status of a request about a message in a space. */
  #statusOf(userId: string, room: Room, status: number): number {
    if (!this.#canRead(userId, room)) return status === 200 ? 403 : 404;
    return room.readers.has(userId) ? status : 403;
  }

  #drawText(): string {
    const words = Array.from({ length: 1 + Math.floor(Math.random() * 4) }, () => draw(WORDS));
    const mentions = Array.from({ length: draw([0, 0, 1, 2]) }, () => `@${draw(NAMES)}`);
    return [...words, ...mentions, draw(WORDS)].join(draw([' ', ', ']));
  }

  /** Returns the ids of the users with the longest name after each `@`, of those who can read the space. */
  #mentionsIn(text: string, room: Room): Set<string> {
    const known = [...this.#names]
      .filter(([id]) => this.#canRead(id, room))
      .sort(([, a], [, b]) => b.length - a.length);
    const mentioned = text
      .split('@')
      .slice(1)
      .map((rest) =>
        known.find(
          ([, name]) => rest.startsWith(name) && !/^[.-]?\w/.test(rest.slice(name.length)),
        ),
      );
    return new Set(mentioned.flatMap((each) => each?.[0] ?? []));
  }
}

function byId<Item extends { message_id: string }>(items: Item[]): Item[] {
  return items.sort((a, b) => (a.message_id < b.message_id ? -1 : 1));
}
