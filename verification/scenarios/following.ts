import { createConversation, createSpace, join, send } from './actions.ts';
import type { Body, Caller, User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

type Page = Body<'listMessages'>;

/** Follows a space, and collects what has happened. */
class Follower {
  readonly texts: string[] = [];
  readonly deleted: string[] = [];
  /** The latest appreciation counts, by message. */
  readonly counts = new Map<string, number>();
  readonly #reader: Caller;
  readonly #space_id: string;
  after = '';

  constructor(reader: Caller, space_id: string) {
    this.#reader = reader;
    this.#space_id = space_id;
  }

  async start(): Promise<this> {
    this.after = (
      await this.#reader.call('listMessages', { space_id: this.#space_id })
    ).newer_cursor;
    return this;
  }

  /** Requests one page, and continues after it. */
  async read(inputs: object = {}): Promise<Page> {
    const page = await this.#reader.call('listMessages', {
      space_id: this.#space_id,
      after: this.after,
      ...inputs,
    });
    this.texts.push(...page.items.map(({ text }) => text));
    this.deleted.push(...page.deleted_message_ids);
    for (const each of page.changed_items)
      this.counts.set(each.message_id, each.appreciation_count);
    equal(
      [page.next_cursor, page.is_complete],
      [null, true],
      'next_cursor and is_complete with after',
    );
    this.after = page.newer_cursor;
    return page;
  }

  /** Reads until nothing has happened. */
  async readAll(inputs: object = {}): Promise<void> {
    for (let i = 0; i < 30; i += 1) {
      const before = this.after;
      const { items, changed_items, deleted_message_ids } = await this.read(inputs);
      if (items.length + changed_items.length + deleted_message_ids.length > 0) continue;
      equal(this.after, before, 'newer_cursor of an empty page');
      return;
    }
    require(false, 'The pages after newer_cursor never end');
  }
}

/** Resolves to the value and the time until then, in seconds. */
function timed<T>(promise: Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const result = promise.then((value): [T, number] => [value, (performance.now() - start) / 1_000]);
  // A scenario that fails before it waits for the result must not end the check.
  result.catch(() => {});
  return result;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const following: Scenario[] = [
  {
    operation: 'listMessages',
    sentence: 'a follower gets every message once, oldest first, however small the pages are',
    rule: 'A reader who always passes the latest `newer_cursor` gets every\n  message once.',
    async run({ users, anonymous }) {
      const [ada] = (await users(1)) as [User];
      const space = await createSpace(ada);
      await send(ada, space, 'earlier');
      const { space_id } = space;
      const [one, many] = [new Follower(anonymous, space_id), new Follower(ada, space_id)];
      await Promise.all([one.start(), many.start()]);
      equal((await one.read()).items, [], 'New messages before any was sent');
      const expected = [];
      for (let i = 0; i < 7; i += 1) {
        expected.push(`message ${i}`);
        await send(ada, space, `message ${i}`);
        if (i % 3 === 0) await one.read({ limit: 1 });
      }
      await one.readAll({ limit: 2 });
      await many.readAll();
      equal(one.texts, expected, 'Messages of a follower with small pages');
      equal(many.texts, expected, 'Messages of a follower with one page');
    },
  },
  {
    operation: 'listMessages',
    sentence: 'a follower learns about edits, appreciations and deletions',
    rule: '`changed_items` has messages whose text or `appreciation_count` has changed, as they are now.',
    async run({ users }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'private', grace);
      const [first, second] = messages.map(({ message_id }) => message_id) as [string, string];
      const follower = await new Follower(ada, space.space_id).start();
      const other = await new Follower(grace, space.space_id).start();
      await grace.call('appreciateMessage', { message_id: first });
      const changed = (await other.read()).changed_items;
      equal(
        changed.map(({ is_appreciated }) => is_appreciated),
        [true],
        'is_appreciated of the message that the follower has appreciated',
      );
      await follower.readAll();
      equal([...follower.counts], [[first, 1]], 'Changed messages with their appreciation_count');
      await grace.call('editMessage', { message_id: second, text: 'Edited' });
      const { changed_items } = await follower.read();
      equal(
        changed_items.map(({ message_id, text }) => [message_id, text]),
        [[second, 'Edited']],
        'Changed messages with their texts',
      );
      await grace.call('withdrawAppreciation', { message_id: first });
      await follower.readAll({ limit: 1 });
      equal(follower.counts.get(first), 0, 'appreciation_count after withdrawAppreciation');
      await grace.call('deleteMessage', { message_id: second });
      await follower.readAll();
      require(follower.deleted.includes(
        second,
      ), 'The follower does not learn about a deleted message');
      require(!follower.deleted.includes(
        first,
      ), 'The follower learns about the deletion of another message');
      equal(follower.texts, [], 'New messages');
    },
  },
  {
    operation: 'listMessages',
    sentence: 'a page without after has the newest messages, and no changes',
    rule: 'Every page has a `newer_cursor`. Pass it as `after`, without `cursor`',
    async run({ users, word }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'public', grace);
      const { space_id } = space;
      await grace.call('appreciateMessage', { message_id: messages[0]?.message_id });
      const page = await ada.call('listMessages', { space_id, limit: 1 });
      equal(
        [page.changed_items, page.deleted_message_ids, page.is_complete],
        [[], [], true],
        'Changes and is_complete without after',
      );
      const after = page.newer_cursor;
      const next = await ada.call('listMessages', { space_id, after });
      equal([next.items, next.changed_items], [[], []], 'What has happened since the first page');
      const cursor = page.next_cursor;
      const refuse = (inputs: object, codes: string | string[]) =>
        ada.refused('listMessages', { space_id, ...inputs }, codes);
      await refuse({ after, cursor }, 'invalid_request');
      await refuse({ wait: 1 }, 'invalid_request');
      await refuse({ after: word() }, ['invalid_cursor', 'invalid_request']);
      const other = await createSpace(ada);
      await ada.refused('listMessages', { space_id: other.space_id, after }, [
        'invalid_cursor',
        'invalid_request',
      ]);
      await ada.refused('listMessages', { space_id: other.space_id, cursor }, [
        'invalid_cursor',
        'invalid_request',
      ]);
      // The cursor of the second page still leads to what has happened since it was read.
      const older = await ada.call('listMessages', { space_id, limit: 1, cursor });
      const follower = new Follower(ada, space_id);
      follower.after = older.newer_cursor;
      await send(grace, space, 'later');
      await follower.readAll();
      require(follower.texts.at(-1) ===
        'later', 'newer_cursor of a later page misses a new message');
    },
  },
  {
    operation: 'listMessages',
    sentence: 'a waiting request ends with the message, or with an empty page at its time limit',
    rule: 'With `wait`, the response is delayed until something happens, at most for this number of seconds.',
    async run({ users }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'public', grace);
      const follower = await new Follower(ada, space.space_id).start();
      const [empty, emptySeconds] = await timed(follower.read({ wait: 1 }));
      equal(
        [empty.items, empty.changed_items, empty.deleted_message_ids],
        [[], [], []],
        'The page at the time limit',
      );
      require(emptySeconds >=
        0.9, `The request with wait=1 ended after ${emptySeconds.toFixed(1)} s`);
      require(emptySeconds < 6, `The request with wait=1 ended after ${emptySeconds.toFixed(1)} s`);
      const events: [string, () => Promise<unknown>][] = [
        ['a message', () => send(grace, space, 'at once')],
        [
          'an appreciation',
          () => grace.call('appreciateMessage', { message_id: messages[0]?.message_id }),
        ],
        [
          'an edit',
          () => grace.call('editMessage', { message_id: messages[1]?.message_id, text: 'Edited' }),
        ],
        ['a deletion', () => grace.call('deleteMessage', { message_id: messages[1]?.message_id })],
      ];
      for (const [name, event] of events) {
        const waiting = timed(follower.read({ wait: 25 }));
        await pause(250);
        await event();
        const [page, seconds] = await waiting;
        const happened =
          page.items.length + page.changed_items.length + page.deleted_message_ids.length;
        require(happened > 0, `A waiting request ended without ${name}`);
        require(seconds < 10, `A waiting request got ${name} only after ${seconds.toFixed(0)} s`);
      }
      const [, noWait] = await timed(follower.read({ wait: 0 }));
      require(noWait < 5, 'A request with wait=0 waits');
    },
  },
  {
    operation: 'listMessages',
    sentence: 'a waiting request ends when its caller loses access or its session',
    rule: 'If the caller loses access to the space or the session ends meanwhile, the request gets 404\nor 401 within a second.',
    async run({ users, signIn }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space } = await createConversation(ada, 'private', grace);
      const { space_id } = space;
      const second = await signIn(grace);
      const { newer_cursor: after } = await grace.call('listMessages', { space_id });
      const wait = { space_id, after, wait: 25 };
      const ended = timed(second.refused('listMessages', wait, 'unauthenticated'));
      await pause(250);
      await second.call('logout');
      const removed = timed(grace.refused('listMessages', wait, 'space_not_found'));
      await pause(250);
      await ada.call('removeParticipant', { space_id, user_id: grace.id });
      for (const [, seconds] of await Promise.all([ended, removed])) {
        require(seconds < 8, `The waiting request ended only after ${seconds.toFixed(0)} s`);
      }
    },
  },
  {
    operation: 'listMessages',
    sentence: 'a follower of a private space gets nothing after losing access',
    rule: 'Returns 404 if the space is private and the caller is not a participant.',
    async run({ users, anonymous }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada, { visibility: 'private' });
      await join(space, grace);
      const { space_id } = space;
      const page = await grace.call('listMessages', { space_id });
      await send(ada, space);
      await grace.call('leaveSpace', { space_id });
      for (const reader of [grace, anonymous]) {
        await reader.refused(
          'listMessages',
          { space_id, after: page.newer_cursor },
          'space_not_found',
        );
      }
    },
  },
  {
    operation: 'listParticipations',
    sentence: 'a follower of the list has the list of a fresh read, however small the pages are',
    rule: '`left_space_ids` has spaces that are no longer in the list',
    async run({ newcomer, word }) {
      // New accounts, because other scenarios change the names and lists of shared ones.
      const [ada, grace] = [await newcomer(), await newcomer()];
      const [first, second, third] = [
        await createSpace(ada),
        await createSpace(ada, { visibility: 'private' }),
        await createSpace(ada),
      ] as const;
      for (const space of [first, second]) await join(space, grace);
      const known = new Map<string, Body<'getParticipation'>>();
      const page = await grace.call('listParticipations');
      for (const each of page.items) known.set(each.space.space_id, each);
      let after = page.newer_cursor;
      const read = async (inputs: object) => {
        const changes = await grace.call('listParticipations', { after, ...inputs });
        for (const each of changes.items) known.set(each.space.space_id, each);
        for (const id of changes.left_space_ids) known.delete(id);
        equal(
          [changes.next_cursor, changes.is_complete, changes.unread],
          [null, true, null],
          'next_cursor, is_complete and unread with after',
        );
        after = changes.newer_cursor;
        return changes.items.length + changes.left_space_ids.length;
      };
      const expectFresh = async (what: string, inputs: object = {}) => {
        for (let i = 0; (await read(inputs)) > 0; i += 1) {
          require(i < 30, `The pages after newer_cursor never end, ${what}`);
        }
        const { items } = await grace.call('listParticipations');
        const sorted = (list: Body<'getParticipation'>[]) =>
          list.toSorted((a, b) => (a.space.space_id < b.space.space_id ? -1 : 1));
        equal(sorted([...known.values()]), sorted(items), `The list of a follower ${what}`);
      };
      await expectFresh('before any change');
      // Not in the order of the spaces.
      await join(third, grace);
      await send(ada, second);
      const { message_id } = await send(ada, first);
      await expectFresh('after messages and a new participation', { limit: 1 });
      const { space_id } = first;
      await grace.call('markRead', { space_id, message_id });
      await expectFresh('after markRead');
      await ada.call('updateSpace', { space_id: third.space_id, title: 'Another title' });
      await ada.call('deleteMessage', { message_id });
      await expectFresh('after another title and a deleted message');
      await ada.call('changeUsername', { username: word() });
      await expectFresh('after another name of a creator');
      await ada.call('removeParticipant', { space_id: second.space_id, user_id: grace.id });
      await grace.call('leaveSpace', { space_id: third.space_id });
      await ada.call('deleteSpace', { space_id });
      await expectFresh('after the end of all participations', { limit: 2 });
      equal([...known.keys()], [], 'Spaces of the follower');
    },
  },
  {
    operation: 'listParticipations',
    sentence: 'a waiting request ends with the change, at its time limit or with its session',
    rule: '`wait` works as in `listMessages`',
    async run({ user, newcomer, word, signIn }) {
      const ada = await user();
      const grace = await newcomer();
      const space = await createSpace(ada);
      await join(space, grace);
      const page = await grace.call('listParticipations');
      const after = page.newer_cursor;
      equal([page.left_space_ids, page.is_complete], [[], true], 'Changes without after');
      const refuse = (inputs: object, codes: string | string[]) =>
        grace.refused('listParticipations', { ...inputs }, codes);
      await refuse({ after, cursor: word() }, ['invalid_request', 'invalid_cursor']);
      await refuse({ wait: 1 }, 'invalid_request');
      await refuse({ after: word() }, ['invalid_cursor', 'invalid_request']);
      const [empty, emptySeconds] = await timed(
        grace.call('listParticipations', { after, wait: 1 }),
      );
      equal(
        [empty.items, empty.left_space_ids, empty.is_complete],
        [[], [], true],
        'Changes before any happened',
      );
      require(emptySeconds >
        0.9, `The request with wait=1 ended after ${emptySeconds.toFixed(1)} s`);
      const wait = { after: empty.newer_cursor, wait: 25 };
      const changed = timed(grace.call('listParticipations', wait));
      await pause(250);
      const { message_id } = await send(ada, space);
      const [changes, seconds] = await changed;
      equal(changes.items[0]?.last_message?.message_id, message_id, 'The changed last_message');
      require(seconds < 10, `A waiting request got a message only after ${seconds.toFixed(0)} s`);
      const second = await signIn(grace);
      const ended = timed(
        second.refused(
          'listParticipations',
          { after: changes.newer_cursor, wait: 25 },
          'unauthenticated',
        ),
      );
      // Longer than a server may wait before its first check.
      await pause(1_300);
      await second.call('logout');
      const [, endSeconds] = await ended;
      require(endSeconds < 8, `The waiting request ended only after ${endSeconds.toFixed(0)} s`);
    },
  },
];
