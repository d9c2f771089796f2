import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { DataRecord } from '../import-export/records.ts';
import { randomNumbers } from './random.ts';

/**
 * The account of the demo's access token. All sample users have its password. The contract's examples use the same
 * email address and password, so they work with the sample data.
 */
export const DEMO_ACCOUNT = { email: 'ada@example.com', password: 'correct horse battery' };

/** The ids in the contract's examples. The sample data has them, so that the examples can be sent to the demo. */
const EXAMPLE_IDS = {
  user: '0195d3c1-7f4e-7a31-9c55-0d9a8f1b2c3d',
  space: '0195d3c4-11aa-7e0f-8a5b-6c7d8e9f0a1b',
  message: '0195d3c9-5b2d-7c44-b1e0-3f4a5b6c7d8e',
};

interface Person {
  username: string;
  bio: string;
  verified: boolean;
  languages: string[];
}

interface User extends Person {
  id: string;
}

interface Conversation {
  title: string;
  description: string;
  tags: string[];
  language: string;
  visibility?: 'public' | 'private';
  messages: string[];
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Yields sample users, spaces and conversations as records to import. Each call yields the same records, with different
 * times up to `now`.
 * @param passwordHash of all sample users
 */
export function* sampleRecords(passwordHash: string, now: Date): Iterable<DataRecord> {
  const people = read<Person[]>('people.yaml').map((person, i) => ({
    ...person,
    id: i === 0 ? EXAMPLE_IDS.user : `sample-user-${i + 1}`,
  }));
  yield* recordsOfUsers(people, passwordHash, now);
  yield* recordsOfSpaces(people, now);
}

function* recordsOfUsers(
  people: readonly User[],
  passwordHash: string,
  now: Date,
): Iterable<DataRecord> {
  for (const [i, { id, username, bio, verified }] of people.entries()) {
    yield {
      type: 'user',
      user_id: id,
      username,
      email: i === 0 ? DEMO_ACCOUNT.email : `person${i + 1}@example.com`,
      password_hash: passwordHash,
      bio,
      is_verified: verified,
      created_at: before(now, 200 * DAY_MS - i * DAY_MS),
    };
  }
}

function* recordsOfSpaces(people: readonly User[], now: Date): Iterable<DataRecord> {
  const random = randomNumbers(7);
  const conversations = readdirSync(new URL('spaces/', import.meta.url))
    .sort()
    .flatMap((file) => read<Conversation[]>(`spaces/${file}`));
  let hasExampleSpace = false;
  for (const [i, conversation] of shuffle(conversations, random).entries()) {
    const ageMs = ((conversations.length - i) / conversations.length) * 150 * DAY_MS;
    const speakers = shuffle(
      people.filter(({ languages }) => languages.includes(conversation.language)),
      random,
    ).slice(0, 5);
    const listeners = shuffle(
      people.filter((person) => !speakers.includes(person)),
      random,
    ).slice(0, Math.floor(random() ** 2 * 20));
    const [creator] = speakers;
    if (!creator) throw new Error(`No sample user speaks ${conversation.language}.`);
    // The first public space that the demo's account created. As its creator, the account can send all requests.
    const isExample: boolean =
      !hasExampleSpace && creator.id === EXAMPLE_IDS.user && conversation.visibility !== 'private';
    hasExampleSpace ||= isExample;
    const spaceId = isExample ? EXAMPLE_IDS.space : `sample-space-${i + 1}`;

    yield {
      type: 'space',
      space_id: spaceId,
      creator_id: creator.id,
      title: conversation.title,
      description: conversation.description,
      visibility: conversation.visibility ?? 'public',
      tags: conversation.tags,
      created_at: before(now, ageMs),
    };
    for (const person of [...speakers, ...listeners]) {
      yield {
        type: 'participant',
        space_id: spaceId,
        user_id: person.id,
        joined_at: before(now, ageMs - MINUTE_MS),
      };
    }
    yield* recordsOfMessages(conversation, { spaceId, speakers, listeners, ageMs, now, random });
  }
}

function* recordsOfMessages(
  { messages }: Conversation,
  setting: {
    spaceId: string;
    speakers: User[];
    listeners: User[];
    ageMs: number;
    now: Date;
    random: () => number;
  },
): Iterable<DataRecord> {
  const { spaceId, speakers, listeners, ageMs, now, random } = setting;
  for (const [i, text] of messages.entries()) {
    // The second message is the first one by another user, which the demo's account can appreciate.
    const isExample = spaceId === EXAMPLE_IDS.space && i === 1;
    const messageId = isExample ? EXAMPLE_IDS.message : `${spaceId}-message-${i + 1}`;
    const author = speakers[i % speakers.length] as User;
    // The messages are spread over the first half of the space's age.
    const messageAgeMs = ageMs - 2 * MINUTE_MS - (ageMs / 2) * (i / messages.length);
    yield {
      type: 'message',
      message_id: messageId,
      space_id: spaceId,
      author_id: author.id,
      text,
      created_at: before(now, messageAgeMs),
    };
    for (const reader of [...speakers, ...listeners]) {
      if (reader === author || random() > 0.15) continue;
      yield {
        type: 'appreciation',
        message_id: messageId,
        user_id: reader.id,
        created_at: before(now, messageAgeMs - random() * 30 * MINUTE_MS),
      };
    }
  }
}

function read<T>(file: string): T {
  return parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as T;
}

function before(now: Date, milliseconds: number): string {
  return new Date(now.getTime() - Math.max(0, milliseconds)).toISOString();
}

function shuffle<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, sortKey: random() }))
    .sort((a, b) => a.sortKey - b.sortKey)
    .map(({ item }) => item);
}
