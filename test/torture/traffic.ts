import assert from 'node:assert/strict';
import sharp from 'sharp';
import { createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { declaredStatuses } from '../support/contract.ts';
import { inputNamesOf } from '../support/requests.ts';
import {
  ANY,
  type Changes,
  type Facts,
  type Journal,
  type Ledger,
  openLedger,
  spaceValue,
} from './ledger.ts';
import { sendExample } from './people.ts';

/** The outcome of a request. */
export interface Result {
  operation: string;
  /** Undefined without a response. */
  status: number | undefined;
  contentType: string | null;
  /** Whether the request changes the expected facts. */
  isChange: boolean;
}

/** Random requests of many users, and a ledger of their outcomes. Users register on demand. */
export interface Traffic {
  ledger: Ledger;
  /** Sends all later requests to this base URL. */
  setUrl(url: string): void;
  writer(): Writer;
  /** Sends one random read. */
  read(): Promise<Result>;
  /** Replaces the expected state with the actual state of the database. */
  settle(actual: { facts: Facts; ids: Map<string, string> }): void;
}

/**
 * Sends one write: the requested operation if possible, otherwise a random one.
 * @throws AssertionError if the response is unexpected
 */
export type Writer = (operation?: Write) => Promise<Result>;

interface Person {
  mark: string;
  token: string;
  spaces: string[];
  joined: string[];
  messages: string[];
  /** Number of reports sent. */
  reports: number;
}

/** A write that should succeed in the expected state. */
interface Attempt {
  changes: Changes;
  send(): Promise<{ data?: unknown; response?: Response; error?: unknown }>;
  /** Runs after success. Returns changes known only from the response. */
  onSuccess?(data: never): Changes | undefined;
}

/** Relative frequency of each write. */
export const writeShares = {
  sendMessage: 28,
  createSpace: 12,
  joinSpace: 14,
  appreciateMessage: 12,
  updateSpace: 8,
  deleteMessage: 5,
  leaveSpace: 4,
  removeParticipant: 2,
  undoRemoval: 1,
  withdrawAppreciation: 3,
  deleteSpace: 2,
  changeBio: 4,
  changeUsername: 3,
  changeProfilePicture: 3,
  removeProfilePicture: 1,
  reportSpace: 2,
  reportMessage: 2,
  deleteAccount: 1,
};
type Write = keyof typeof writeShares;

/** Operations that are never drawn at random, with the reason. */
export const neverDrawn: Readonly<Record<string, string>> = {
  register: 'It is sent when a writer needs another person.',
  login: 'The ledger does not compare its effects.',
  logout: 'The ledger does not compare its effects.',
  endSession: 'The ledger does not compare its effects.',
  changePassword: 'The ledger does not compare its effects.',
  renewInvitationCode: 'The ledger does not compare its effects.',
};

/** Known inputs of reads. The traffic sends only the required ones. */
const READ_INPUTS = [
  'q',
  'tag',
  'as_typed',
  'user_id',
  'space_id',
  'message_id',
  'limit',
  'cursor',
];

export function unknownInputsOf(operation: Operation): string[] {
  return inputNamesOf(operation).filter((name) => !READ_INPUTS.includes(name));
}

/** Returns whether the traffic sends this operation as a read: a `GET` without unknown inputs. */
export function isRead(operation: Operation): boolean {
  return operation.method === 'GET' && unknownInputsOf(operation).length === 0;
}

const declared = new Set(declaredStatuses());

const WORDS = 'tea astronomy bread chess jazz river stone cloud harbour lantern'.split(' ');
const TAGS = ['baking', 'C++', 'Nachtmusik', '東京', 'a/b', 'node.js'];
/** Maximum length of each list of users, spaces and messages. It bounds the memory of long runs. */
const MAX_REMEMBERED = 200;
/** Maximum number of open reports of one user. */
const MAX_OPEN_REPORTS = 20;
/** Maximum number of users of each writer. */
const MAX_PEOPLE = 12;

const avatars = await Promise.all(
  ['teal', 'coral', 'olive', 'navy'].map(async (background) => {
    const image = sharp({ create: { width: 16, height: 16, channels: 3, background } });
    return new Blob([new Uint8Array(await image.png().toBuffer())]);
  }),
);

export function openTraffic(): Traffic {
  const ledger = openLedger();
  const client = createClient(createConfig({ baseUrl: '' }));
  let ids = new Map<string, string>();
  let lastNumber = 0;
  const nextNumber = () => ++lastNumber;
  const spaces: string[] = [];
  const messages: string[] = [];
  const people: Person[] = [];

  const idOf = (key: string) => {
    const id = ids.get(key);
    assert(id !== undefined, `the id of ${key} is unknown`);
    return id;
  };
  const spaceId = (mark: string) => ({ space_id: idOf(`space ${mark}`) });
  const messageId = (mark: string) => ({ message_id: idOf(`message ${mark}`) });
  const drawExisting = (kind: string, marks: readonly string[]) =>
    drawWhere(marks, (mark) => ledger.exists(`${kind} ${mark}`));

  function newSpace(mark: string) {
    const visibility = Math.random() < 0.85 ? ('public' as const) : ('private' as const);
    const tags = TAGS.filter(() => Math.random() < 0.3);
    return {
      title: text(`Space${nextNumber()}`, 3),
      description: text(mark, 8),
      visibility,
      tags,
    };
  }

  /**
   * Creates each write of a person; undefined if it needs a target and none exists. `own` are all people of the writer:
   * only one journal may contain a fact.
   */
  const writes: Record<Write, (person: Person, own: Person[]) => Attempt | undefined> = {
    changeUsername({ mark, token }) {
      const username = `user-${mark.slice(1)}-${nextNumber()}`;
      return {
        changes: { [`username ${mark}`]: username },
        send: () => api.changeUsername({ client, auth: token, body: { username } }),
      };
    },
    changeBio({ mark, token }) {
      const bio = text(`Bio${nextNumber()}`, 20);
      return {
        changes: { [`bio ${mark}`]: bio },
        send: () => api.changeBio({ client, auth: token, body: { bio } }),
      };
    },
    changeProfilePicture({ mark, token }) {
      const avatar = avatars[nextNumber() % avatars.length] as Blob;
      return {
        changes: { [`avatar ${mark}`]: ANY },
        send: () => api.changeProfilePicture({ client, auth: token, body: { avatar } }),
        onSuccess: ({ profile_picture }: { profile_picture: string }) => ({
          [`avatar ${mark}`]: profile_picture.split('/').pop(),
        }),
      };
    },
    removeProfilePicture({ mark, token }) {
      return {
        changes: { [`avatar ${mark}`]: undefined },
        send: () => api.removeProfilePicture({ client, auth: token }),
      };
    },
    createSpace(person) {
      const mark = `${person.mark}.s${nextNumber()}`;
      const { tags, ...space } = newSpace(mark);
      return {
        changes: {
          [`space ${mark}`]: spaceValue(space, tags),
          [`participation ${mark}>${person.mark}`]: 'joined',
        },
        send: () => api.createSpace({ client, auth: person.token, body: { ...space, tags } }),
        onSuccess({ space_id }: { space_id: string }) {
          ids.set(`space ${mark}`, space_id);
          remember(person.spaces, mark);
          remember(person.joined, mark);
          if (space.visibility === 'public') remember(spaces, mark);
          return undefined;
        },
      };
    },
    updateSpace(person) {
      const mark = drawExisting('space', person.spaces);
      if (!mark) return undefined;
      const { tags, ...space } = newSpace(mark);
      return {
        changes: { [`space ${mark}`]: spaceValue(space, tags) },
        send: () =>
          api.updateSpace({
            client,
            auth: person.token,
            path: spaceId(mark),
            body: { ...space, tags },
          }),
      };
    },
    deleteSpace(person) {
      const mark = drawExisting('space', person.spaces);
      if (!mark) return undefined;
      return {
        changes: { [`space ${mark}`]: undefined },
        send: () => api.deleteSpace({ client, auth: person.token, path: spaceId(mark) }),
      };
    },
    joinSpace(person) {
      const mark = drawExisting('space', spaces);
      if (!mark || mark.startsWith(`${person.mark}.`)) return undefined;
      return {
        changes: { [`participation ${mark}>${person.mark}`]: 'joined' },
        send: () => api.joinSpace({ client, auth: person.token, path: spaceId(mark), body: {} }),
        onSuccess() {
          remember(person.joined, mark);
          return undefined;
        },
      };
    },
    leaveSpace(person) {
      const mark = drawExisting('space', person.joined);
      if (!mark || mark.startsWith(`${person.mark}.`) || !hasJoined(person, mark)) return undefined;
      return {
        changes: { [`participation ${mark}>${person.mark}`]: 'left' },
        send: () => api.leaveSpace({ client, auth: person.token, path: spaceId(mark) }),
      };
    },
    removeParticipant(person, own) {
      const found = drawGuest(person, own, 'joined');
      if (!found) return undefined;
      const { guest, mark } = found;
      const path = { ...spaceId(mark), user_id: idOf(`user ${guest.mark}`) };
      return {
        changes: { [`participation ${mark}>${guest.mark}`]: 'removed' },
        send: () => api.removeParticipant({ client, auth: person.token, path }),
      };
    },
    undoRemoval(person, own) {
      const found = drawGuest(person, own, 'removed');
      if (!found) return undefined;
      const { guest, mark } = found;
      const path = { ...spaceId(mark), user_id: idOf(`user ${guest.mark}`) };
      return {
        changes: { [`participation ${mark}>${guest.mark}`]: 'left' },
        send: () => api.undoRemoval({ client, auth: person.token, path }),
      };
    },
    sendMessage(person) {
      const space = drawExisting('space', person.joined);
      if (!space || !hasJoined(person, space)) return undefined;
      const mark = `${space}>${person.mark}.m${nextNumber()}`;
      const sent = text(mark, 12);
      return {
        changes: { [`message ${mark}`]: sent },
        send: () =>
          api.sendMessage({ client, auth: person.token, body: { ...spaceId(space), text: sent } }),
        onSuccess({ message_id }: { message_id: string }) {
          ids.set(`message ${mark}`, message_id);
          remember(person.messages, mark);
          remember(messages, mark);
          return undefined;
        },
      };
    },
    deleteMessage(person) {
      const mark = drawExisting('message', person.messages);
      if (!mark) return undefined;
      return {
        changes: { [`message ${mark}`]: undefined },
        send: () => api.deleteMessage({ client, auth: person.token, path: messageId(mark) }),
      };
    },
    appreciateMessage(person) {
      const mark = drawExisting('message', messages);
      if (!mark || mark.includes(`>${person.mark}.`)) return undefined;
      return {
        changes: { [`appreciation ${mark}>${person.mark}`]: 'exists' },
        send: () => api.appreciateMessage({ client, auth: person.token, path: messageId(mark) }),
      };
    },
    withdrawAppreciation(person) {
      const mark = drawWhere(messages, (each) =>
        ledger.exists(`appreciation ${each}>${person.mark}`),
      );
      if (!mark) return undefined;
      return {
        changes: { [`appreciation ${mark}>${person.mark}`]: undefined },
        send: () => api.withdrawAppreciation({ client, auth: person.token, path: messageId(mark) }),
      };
    },
    reportSpace(person) {
      const mark = drawExisting('space', spaces);
      if (!mark) return undefined;
      return report(person, mark, (reason) =>
        api.reportSpace({ client, auth: person.token, path: spaceId(mark), body: { reason } }),
      );
    },
    reportMessage(person) {
      const mark = drawExisting('message', messages);
      if (!mark) return undefined;
      return report(person, mark, (reason) =>
        api.reportMessage({ client, auth: person.token, path: messageId(mark), body: { reason } }),
      );
    },
    deleteAccount({ mark, token }) {
      return {
        changes: { [`user ${mark}`]: undefined },
        send: () => api.deleteAccount({ client, auth: token }),
      };
    },
  };
  /** Reports a space or a message, unless the person has already sent as many reports as can be open. */
  function report(
    person: Person,
    mark: string,
    send: (reason: string) => ReturnType<Attempt['send']>,
  ): Attempt | undefined {
    if (person.reports >= MAX_OPEN_REPORTS) return undefined;
    person.reports += 1;
    const reason = text(`Report${nextNumber()}`, 10);
    return { changes: { [`report ${mark}>${person.mark}`]: reason }, send: () => send(reason) };
  }
  const hasJoined = (person: Person, space: string) =>
    ledger.value(`participation ${space}>${person.mark}`) === 'joined';

  /** Returns another person of the writer whose participation in a space of `host` has this value. */
  function drawGuest(host: Person, own: Person[], value: 'joined' | 'removed') {
    const found = host.spaces
      .filter((mark) => ledger.exists(`space ${mark}`))
      .flatMap((mark) => own.map((guest) => ({ mark, guest })))
      .filter(
        ({ mark, guest }) =>
          guest !== host && ledger.value(`participation ${mark}>${guest.mark}`) === value,
      );
    return found.length === 0 ? undefined : draw(found);
  }

  function register(own: Person[]): Attempt {
    const mark = `u${nextNumber()}`;
    const username = `user-${mark.slice(1)}`;
    const body = { username, email: `${mark}@example.org`, password: 'correct horse battery' };
    return {
      changes: { [`user ${mark}`]: 'exists', [`username ${mark}`]: username, [`bio ${mark}`]: '' },
      send: () => api.register({ client, body }),
      onSuccess({ user_id, access_token: token }: { user_id: string; access_token: string }) {
        ids.set(`user ${mark}`, user_id);
        const person = { mark, token, spaces: [], joined: [], messages: [], reports: 0 };
        own.push(person);
        remember(people, person);
        return undefined;
      },
    };
  }

  async function perform(operation: string, attempt: Attempt, journal: Journal): Promise<Result> {
    const isChange = Object.entries(attempt.changes).some(
      ([key, value]) => ledger.value(key) !== value,
    );
    journal.begin(attempt.changes);
    const { data, response, error } = await attempt.send();
    const result = { ...resultOf(operation, response), isChange };
    if (result.status === undefined || (response?.ok && data === undefined)) {
      return { ...result, status: undefined };
    }
    if (response?.ok) journal.acknowledge(attempt.onSuccess?.(data as never));
    else journal.reject();
    // Other writers may have deleted the target, made it private or sent messages to a private space.
    const isConflict = operation === 'updateSpace' && result.status === 409;
    const isExpected = response?.ok || isConflict || [403, 404, 503].includes(result.status);
    assert(isExpected, `${operation} returned ${result.status}: ${JSON.stringify(error)}`);
    return result;
  }

  return {
    ledger,
    setUrl: (url) => void client.setConfig({ baseUrl: url }),

    writer() {
      const journal = ledger.journal();
      const own: Person[] = [];
      return async (wanted) => {
        const alive = own.filter(({ mark }) => ledger.exists(`user ${mark}`));
        own.splice(0, own.length, ...alive);
        const wantsPerson = own.length < 2 || (own.length < MAX_PEOPLE && Math.random() < 0.02);
        if (own.length === 0 || (wanted === undefined && wantsPerson)) {
          return perform('register', register(own), journal);
        }
        for (let operation = wanted ?? drawOperation(); ; operation = drawOperation()) {
          const person = draw(own);
          const attempt = writes[operation](person, own);
          if (attempt) return perform(operation, attempt, journal);
        }
      };
    },

    async read() {
      const person = people.findLast(({ mark }) => ledger.exists(`user ${mark}`));
      const space = drawExisting('space', spaces);
      const message = drawExisting('message', messages);
      const values: Record<string, string> = {
        q: draw(WORDS),
        tag: draw(TAGS),
        ...(person && { user_id: idOf(`user ${person.mark}`) }),
        ...(space !== undefined && spaceId(space)),
        ...(message !== undefined && messageId(message)),
      };
      const possible = operations.filter(
        (operation) =>
          isRead(operation) &&
          (operation.authentication !== 'required' || person) &&
          inputNamesOf(operation).every((name) => !name.endsWith('_id') || name in values),
      );
      const operation = draw(possible);
      const { baseUrl = '' } = client.getConfig();
      const token = operation.authentication === 'required' ? person?.token : undefined;
      // A killed server sends no response, or an incomplete one.
      const sent = await sendExample(baseUrl, operation, values, token).catch(() => undefined);
      const result = resultOf(operation.operationId, sent?.response);
      const { status } = result;
      // A concurrent write may have deleted the target or the session, and some reads require participation.
      const isExpected =
        status === undefined ||
        status < 400 ||
        ([401, 403, 404, 503].includes(status) &&
          declared.has(`${operation.operationId} ${status}`));
      assert(
        isExpected,
        `${operation.operationId} returned ${status}: ${JSON.stringify(sent?.error)}`,
      );
      return result;
    },

    settle(actual) {
      ledger.settle(actual.facts);
      ids = actual.ids;
    },
  };
}

function resultOf(operation: string, response: Response | undefined): Result {
  const contentType = response?.headers.get('content-type') ?? null;
  return { operation, status: response?.status, contentType, isChange: false };
}

function drawOperation(): Write {
  const shares = Object.entries(writeShares) as [Write, number][];
  let rest = Math.random() * shares.reduce((sum, [, share]) => sum + share, 0);
  for (const [operation, share] of shares) {
    rest -= share;
    if (rest < 0) return operation;
  }
  return 'sendMessage';
}

/** Returns a random item that matches; undefined after five attempts without a match. */
function drawWhere<T>(items: readonly T[], matches: (item: T) => boolean): T | undefined {
  for (let i = 0; i < 5 && items.length > 0; i += 1) {
    const item = draw(items);
    if (matches(item)) return item;
  }
  return undefined;
}

function draw<T>(items: readonly T[]): T {
  return items[Math.floor(Math.random() * items.length)] as T;
}

function remember<T>(items: T[], item: T): void {
  items.push(item);
  if (items.length > MAX_REMEMBERED) items.shift();
}

function text(beginning: string, words: number): string {
  const drawn = Array.from({ length: words }, () => draw(WORDS));
  return [beginning, ...drawn].join(' ');
}
