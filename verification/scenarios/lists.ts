import { randomInt } from 'node:crypto';
import { operations } from '../contract.ts';
import { createConversation, createSpace, join, type Message, send } from './actions.ts';
import type { Caller, Inputs, OperationId, User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario, Stage } from './scenario.ts';

/** A list with at least five items that only this scenario changes. */
interface List {
  caller: Caller;
  inputs: Inputs;
  /** The keys of all items in the promised order. */
  keys: string[];
  /** Adds an item that comes first, and removes the second one, or undefined if neither is possible. */
  change?: () => Promise<void>;
}

type Item = Record<string, unknown> & { space?: Item; user?: Item };

/** Returns what identifies an item of any list. */
function keyOf({ space, user, ...item }: Item): string {
  if (space) return keyOf(space);
  if (user) return keyOf(user);
  const { message_id, session_id, token_id, report_id, space_id, user_id, tag_name } = item;
  const id = message_id ?? session_id ?? token_id ?? report_id ?? space_id ?? user_id ?? tag_name;
  return String(id);
}

async function createSpaces(user: User, count: number, fields: object): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) ids.unshift((await createSpace(user, fields)).space_id);
  return ids;
}

/** The lists by name. All operations with the parameter `limit` need one, with the name of the operation at the beginning. */
const kinds: Record<string, (stage: Stage) => Promise<List>> = {
  searchSpaces: (stage) => spacesWith(stage, (word) => ({ q: word }), 'caller'),
  searchSpacesByTag: (stage) => spacesWith(stage, (word) => ({ tag: word }), 'anonymous'),
  'listSpaces with q': (stage) => spacesWith(stage, (word) => ({ q: word }), 'anonymous'),
  'listSpaces with tag': (stage) => spacesWith(stage, (word) => ({ tag: word }), 'anonymous'),
  async listTags({ user, anonymous, word }) {
    const ada = await user();
    const prefix = word().slice(0, 20);
    const tags = ['a', 'b', 'c', 'd', 'e'].map((each) => `${prefix}${each}`);
    for (const tag of tags) await createSpace(ada, { tags: [tag] });
    // With two spaces, it comes first.
    await createSpace(ada, { tags: [tags[1]] });
    const keys = [1, 4, 3, 2, 0].map((i) => tags[i] as string);
    return { caller: anonymous, inputs: { prefix }, keys };
  },
  async listSessions({ newcomer, signIn }) {
    const ada = await newcomer();
    for (let i = 0; i < 4; i += 1) await signIn(ada);
    const { items } = await ada.call('listSessions', { limit: 100 });
    const times = items.map(({ created_at }) => created_at);
    equal(times, [...times].sort().reverse(), 'created_at of the sessions');
    return { caller: ada, inputs: {}, keys: items.map(({ session_id }) => session_id) };
  },
  async listTokens({ newcomer }) {
    const ada = await newcomer();
    const keys: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const { token_id } = await ada.call('createToken', { name: 'Bot', scopes: ['read'] });
      keys.unshift(token_id);
    }
    return { caller: ada, inputs: {}, keys };
  },
  async 'listParticipations by joining'({ newcomer, user }) {
    const [ada, other] = [await newcomer(), await user()];
    const ids = await createSpaces(other, 5, {});
    for (const space_id of ids) await ada.call('joinSpace', { space_id });
    const keys = [...ids].reverse();
    const change = async () => {
      await createSpace(ada);
      await ada.call('leaveSpace', { space_id: keys[1] });
    };
    return { caller: ada, inputs: { sort: 'joined' }, keys, change };
  },
  async 'listParticipations by activity'({ newcomer, user }) {
    const [ada, other] = [await newcomer(), await user()];
    const ids = await createSpaces(other, 5, {});
    for (const space_id of ids) await ada.call('joinSpace', { space_id });
    const [a, b, c, d, e] = ids as [string, string, string, string, string];
    for (const space_id of [d, a]) await other.call('sendMessage', { space_id, text: 'x' });
    return { caller: ada, inputs: { sort: 'recent' }, keys: [a, d, e, c, b] };
  },
  async listParticipants({ users }) {
    const [creator, ...others] = (await users(5)) as [User, ...User[]];
    const space = await createSpace(creator, { visibility: 'private' });
    await join(space, ...others);
    return {
      caller: others[0] as User,
      inputs: { space_id: space.space_id },
      keys: [creator, ...others].map(({ id }) => id).reverse(),
    };
  },
  async listRemovals({ users }) {
    const [creator, ...others] = (await users(6)) as [User, ...User[]];
    const space = await createSpace(creator);
    const { space_id } = space;
    await join(space, ...others);
    for (const { id } of others) await creator.call('removeParticipant', { space_id, user_id: id });
    const keys = others.map(({ id }) => id).reverse();
    const change = async () => {
      await creator.call('undoRemoval', { space_id, user_id: keys[1] });
    };
    return { caller: creator, inputs: { space_id }, keys, change };
  },
  async findUsers({ newcomer }) {
    const ada = await newcomer();
    const others: User[] = [];
    while (others.length < 5) others.push(await newcomer());
    const space = await createSpace(ada);
    await join(space, ...others);
    const prefix = `f${randomInt(2 ** 40).toString(36)}`;
    const keys: string[] = [];
    for (const [i, other] of others.entries()) {
      await other.call('changeUsername', { username: `${prefix}${i}` });
      keys.push(other.id);
    }
    return { caller: ada, inputs: { q: prefix.toUpperCase() }, keys };
  },
  async listBlocks({ newcomer, users }) {
    const ada = await newcomer();
    const others = await users(5);
    for (const { id } of others) await ada.call('blockUser', { user_id: id });
    const keys = others.map(({ id }) => id).reverse();
    const change = async () => {
      await ada.call('unblockUser', { user_id: keys[1] });
    };
    return { caller: ada, inputs: {}, keys, change };
  },
  async listReports({ users }) {
    const [creator, ...reporters] = (await users(6)) as [User, ...User[]];
    const { space, messages } = await createConversation(creator, 'private', ...reporters);
    const { space_id } = space;
    const [, reported, further] = messages as [Message, Message, Message];
    const { message_id } = reported;
    for (const [i, each] of reporters.entries()) {
      await each.call('reportMessage', { message_id, reason: `Reason ${i}` });
    }
    const ids = (await creator.call('listReports', { space_id })).items.map(
      ({ report_id }) => report_id,
    );
    const change = async () => {
      await (reporters[3] as User).call('withdrawMessageReport', { message_id });
      const later = { message_id: further.message_id, reason: 'Later' };
      await (reporters[0] as User).call('reportMessage', later);
    };
    return { caller: creator, inputs: { space_id }, keys: ids, change };
  },
  async listMessages({ users }) {
    const [ada, grace] = (await users(2)) as [User, User];
    const { space, messages } = await createConversation(ada, 'private', grace);
    for (let i = 0; i < 3; i += 1) messages.push(await send(ada, space));
    const keys = messages.map(({ message_id }) => message_id).reverse();
    const change = async () => {
      await send(grace, space);
      await ada.call('deleteMessage', { message_id: keys[1] });
    };
    return { caller: grace, inputs: { space_id: space.space_id }, keys, change };
  },
  async listAppreciations({ users }) {
    const [ada, ...others] = (await users(6)) as [User, ...User[]];
    const [first, second, third, fourth, fifth] = others as [User, User, User, User, User];
    const { message_id } = await send(ada, await createSpace(ada));
    const inputs = { message_id };
    const appreciating = [first, second, third, fourth, fifth];
    for (const user of appreciating) await user.call('appreciateMessage', inputs);
    const change = async () => {
      await fourth.call('withdrawAppreciation', inputs);
    };
    return { caller: ada, inputs, keys: appreciating.map(({ id }) => id).reverse(), change };
  },
  async listUserSpaces({ newcomer, user }) {
    const [ada, reader] = [await newcomer(), await user()];
    const keys = await createSpaces(ada, 5, {});
    const change = async () => {
      await createSpace(ada);
      await ada.call('deleteSpace', { space_id: keys[1] });
    };
    return { caller: reader, inputs: { user_id: ada.id }, keys, change };
  },
};

async function spacesWith(
  { user, anonymous, word }: Stage,
  inputsOf: (word: string) => Inputs,
  as: 'anonymous' | 'caller',
): Promise<List> {
  const ada = await user();
  const own = word();
  const keys = await createSpaces(ada, 5, { title: `About ${own}`, tags: [own] });
  const change = async () => {
    await createSpace(ada, { title: `About ${own}`, tags: [own] });
    await ada.call('deleteSpace', { space_id: keys[1] });
  };
  return { caller: as === 'caller' ? ada : anonymous, inputs: inputsOf(own), keys, change };
}

interface Page {
  keys: string[];
  next: string | null;
}

async function readPage(operationId: OperationId, caller: Caller, inputs: Inputs): Promise<Page> {
  const { headers, body, status } = await caller.exchange(operationId, inputs);
  require(status === 200, `${operationId} returned ${status} for a page`);
  const link = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
  const next = link === undefined ? null : cursorIn(link);
  if (link !== undefined) {
    // The URL must be complete: it repeats the other parameters.
    const query = new URL(link, 'http://server').searchParams;
    for (const [name, value] of Object.entries(inputs)) {
      if (name === 'cursor' || link.includes(encodeURIComponent(String(value)))) continue;
      equal(query.get(name), String(value), `The parameter ${name} in Link`);
    }
  }
  if (Array.isArray(body)) return { keys: body.map(keyOf), next };
  const { items, next_cursor } = body as { items: Item[]; next_cursor: string | null };
  equal(next_cursor, next, 'next_cursor, which must be the cursor in Link');
  return { keys: items.map(keyOf), next };
}

function cursorIn(link: string): string {
  const cursor = new URL(link, 'http://server').searchParams.get('cursor');
  require(cursor !== null, 'The URL in Link has no cursor');
  return cursor;
}

/** Returns the keys on all pages. */
async function readAll(operationId: OperationId, list: List, limit: number): Promise<string[]> {
  const { caller, inputs } = list;
  const keys: string[] = [];
  let cursor: string | null | undefined;
  for (let pages = 0; cursor !== null; pages += 1) {
    require(pages <= 30, 'The pages never end');
    const page = await readPage(operationId, caller, { ...inputs, limit, cursor });
    require(page.keys.length <= limit, `A page has ${page.keys.length} items with limit=${limit}`);
    keys.push(...page.keys);
    cursor = page.next;
  }
  return keys;
}

/** Requires that pages outside the bounds are refused, and cursors of other lists. */
async function refuseOthers(
  operation: OperationId,
  caller: Caller,
  inputs: Inputs,
  next: string | null,
  unknown: string,
): Promise<void> {
  for (const limit of [0, 101, -1, 'many', 1.5, '05']) {
    await caller.refused(operation, { ...inputs, limit }, 'invalid_request');
  }
  const codes = ['invalid_cursor', 'invalid_request'];
  await caller.refused(operation, { ...inputs, cursor: unknown }, codes);
  const other = operation === 'listTags' ? 'listSpaces' : 'listTags';
  await caller.refused(other, { cursor: next }, 'invalid_cursor');
}

const operationOf = (name: string) => name.split(' ', 1)[0] as OperationId;

/** Lists whose items cannot be changed without changing the order of others. */
const withoutChange = [
  'listTags',
  'listSessions',
  'listTokens',
  'listParticipations by activity',
  'listParticipants',
];

export const lists: Scenario[] = Object.entries(kinds).flatMap(([name, open]) => {
  const operation = operationOf(name);
  return [
    {
      operation,
      sentence: `${name}: the pages contain every item once, in the promised order, and no other cursor is accepted`,
      rule: 'No item appears twice on the pages of a list that does not change.',
      async run(stage: Stage) {
        const list = await open(stage);
        const { caller, inputs, keys } = list;
        for (const limit of [2, 5, 100])
          equal(await readAll(operation, list, limit), keys, `Items with limit=${limit}`);
        equal((await readPage(operation, caller, inputs)).keys, keys, 'Items without limit');
        const first = await readPage(operation, caller, { ...inputs, limit: 2 });
        const whole = await readPage(operation, caller, {
          ...inputs,
          limit: 4,
          cursor: first.next,
        });
        equal([...first.keys, ...whole.keys], keys, 'Items with another limit on the second page');
        const again = await readPage(operation, caller, {
          ...inputs,
          limit: 2,
          cursor: first.next,
        });
        equal(again.keys, keys.slice(2, 4), 'Items of the second page, read again');
        await refuseOthers(operation, caller, inputs, first.next, stage.word());
      },
    },
    {
      operation,
      sentence: `${name}: rows that are added and removed meanwhile neither repeat nor hide others`,
      rule: 'Items that exist all the time, and whose place\nin the order does not change, appear exactly once.',
      async run(stage: Stage) {
        const { caller, inputs, keys, change } = await open(stage);
        if (!change) return;
        const first = await readPage(operation, caller, { ...inputs, limit: 2 });
        await change();
        const rest = await readPage(operation, caller, {
          ...inputs,
          limit: 100,
          cursor: first.next,
        });
        equal([...first.keys, ...rest.keys], keys, 'Items of a list that changes meanwhile');
        const current = await readPage(operation, caller, { ...inputs, limit: 100 });
        require(!current.keys.includes(keys[1] as string), 'A removed item is still in the list');
      },
    },
  ].filter(({ sentence }) => !sentence.includes('meanwhile') || !withoutChange.includes(name));
});

/** The operations that return a list, and those that have a scenario here. */
export const listOperations = operations
  .filter(({ parameters }) => parameters.some(({ name }) => name === 'limit'))
  .map(({ operationId }) => operationId);
export const readLists = Object.keys(kinds).map(operationOf);
