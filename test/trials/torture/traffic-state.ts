import assert from 'node:assert/strict';
import { type Client, createClient, createConfig } from '../../../generated/client/index.ts';
import { draw } from '../../support/drawing.ts';
import { type Facts, type Ledger, openLedger } from './ledger.ts';

/** A user of the traffic. A mark identifies users, spaces and messages, see `Facts`. */
export interface TrafficUser {
  mark: string;
  token: string;
  spaces: string[];
  joined: string[];
  messages: string[];
  /** Number of reports sent. */
  reports: number;
}

/** The expected content of the database, and what requests can refer to. */
export interface TrafficState {
  ledger: Ledger;
  /** Sends all requests. */
  client: Client;
  /** Marks of spaces that were public when they were created. */
  spaces: string[];
  messages: string[];
  people: TrafficUser[];
  /** Returns a number that no other mark or text has. */
  nextNumber(): number;
  /** Records the public id in a response. */
  setId(key: string, id: string): void;
  userId(mark: string): { user_id: string };
  spaceId(mark: string): { space_id: string };
  messageId(mark: string): { message_id: string };
  /** Returns the mark of an existing row; undefined if several attempts find none. */
  drawExisting(kind: 'space' | 'message', marks: readonly string[]): string | undefined;
  /** Replaces the expected state with the actual state of the database. */
  settle(actual: { facts: Facts; ids: Map<string, string> }): void;
}

export const WORDS = 'tea astronomy bread chess jazz river stone cloud harbour lantern'.split(' ');
export const TAGS = ['baking', 'C++', 'Nachtmusik', '東京', 'a/b', 'node.js'];

export function openState(): TrafficState {
  const ledger = openLedger();
  let ids = new Map<string, string>();
  let lastNumber = 0;
  const idOf = (key: string) => {
    const id = ids.get(key);
    assert(id !== undefined, `the id of ${key} is unknown`);
    return id;
  };
  return {
    ledger,
    client: createClient(createConfig({ baseUrl: '' })),
    spaces: [],
    messages: [],
    people: [],
    nextNumber: () => ++lastNumber,
    setId: (key, id) => void ids.set(key, id),
    userId: (mark) => ({ user_id: idOf(`user ${mark}`) }),
    spaceId: (mark) => ({ space_id: idOf(`space ${mark}`) }),
    messageId: (mark) => ({ message_id: idOf(`message ${mark}`) }),
    drawExisting: (kind, marks) => drawWhere(marks, (mark) => ledger.exists(`${kind} ${mark}`)),
    settle(actual) {
      ledger.settle(actual.facts);
      ids = actual.ids;
    },
  };
}

/** Returns a random item that matches; undefined after five attempts without a match. */
export function drawWhere<T>(items: readonly T[], matches: (item: T) => boolean): T | undefined {
  for (let i = 0; i < 5 && items.length > 0; i += 1) {
    const item = draw(items);
    if (matches(item)) return item;
  }
  return undefined;
}
