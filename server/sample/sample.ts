import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { deriveId } from '../import-export/defaults.ts';
import type { DataRecord } from '../import-export/records.ts';
import { randomNumbers } from './random.ts';

/**
 * The account of the demo's access token. All sample users have its password. The contract's examples use the same
 * email address and password, so they work with the sample data.
 */
export const DEMO_ACCOUNT = { email: 'ada@example.com', password: 'correct horse battery' };

/** An invitation of the demo's account to a private space. */
export const DEMO_INVITATION = {
  space_id: 'sample-invitation',
  invitation_code: 'the-long-table-needs-benches',
};

/** A space with 200 messages, the last of which are some minutes old. */
const ACTIVE_SPACE_ID = 'sample-birds';

/** The advertisement in the active space. */
export const REPORTED_MESSAGE_ID = `${ACTIVE_SPACE_ID}-message-188`;

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
  /** File name of the avatar; undefined for the default one. */
  picture: string | undefined;
}

interface Conversation {
  title: string;
  description: string;
  tags: string[];
  language: string;
  visibility?: 'public' | 'private';
  /** Only of spaces that other modules name. */
  id?: string;
  messages: string[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How many messages people write before they leave for some hours or days. */
const MESSAGES_PER_SITTING = 5;

/**
 * Yields sample users, spaces and conversations as records to import. Each call yields the same records, with different
 * times up to `now`.
 * @param passwordHash of all sample users
 */
export function* sampleRecords(passwordHash: string, now: Date): Iterable<DataRecord> {
  const people = readPeople();
  yield* recordsOfUsers(people, passwordHash, now);
  yield* recordsOfSpaces(people, now);
}

/** Returns the file names of the avatars that the sample users have. */
export function sampleAvatars(): string[] {
  return readPeople().flatMap(({ picture }) => picture ?? []);
}

function readPeople(): User[] {
  return read<Person[]>('people.yaml').map((person, i) => ({
    ...person,
    id: i === 0 ? EXAMPLE_IDS.user : `sample-user-${i + 1}`,
    // Ada changes hers with a command of the demo. Some others keep the default avatar, too.
    picture: i > 0 && i % 4 !== 0 ? `${deriveId('avatar', String(i))}.webp` : undefined,
  }));
}

function* recordsOfUsers(
  people: readonly User[],
  passwordHash: string,
  now: Date,
): Iterable<DataRecord> {
  for (const [i, { id, username, bio, verified, picture }] of people.entries()) {
    yield {
      type: 'user',
      user_id: id,
      username,
      email: i === 0 ? DEMO_ACCOUNT.email : `person${i + 1}@example.com`,
      password_hash: passwordHash,
      bio,
      is_verified: verified,
      ...(picture && { picture }),
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
    const { language } = conversation;
    const isInvitation = conversation.id === DEMO_INVITATION.space_id;
    const candidates = isInvitation ? people.slice(1) : people;
    const speakers = shuffle(
      candidates.filter(({ languages }) => languages.includes(language)),
      random,
    ).slice(0, 5);
    const listeners = shuffle(
      candidates.filter((person) => !speakers.includes(person)),
      random,
    ).slice(0, Math.floor(random() ** 2 * 20));
    const [creator] = speakers;
    if (!creator) throw new Error(`No sample user speaks ${language}.`);
    // The first public space that the demo's account created. As its creator, the account can send all requests.
    const isExample: boolean =
      !hasExampleSpace && creator.id === EXAMPLE_IDS.user && conversation.visibility !== 'private';
    hasExampleSpace ||= isExample;
    const spaceId = conversation.id ?? (isExample ? EXAMPLE_IDS.space : `sample-space-${i + 1}`);
    const isActive = spaceId === ACTIVE_SPACE_ID;
    const lastAgeMs = isActive ? 20 * MINUTE_MS : (ageMs / 2) * random() ** 3;

    yield {
      type: 'space',
      space_id: spaceId,
      ...(isInvitation && DEMO_INVITATION),
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
        joined_at: before(now, person === creator ? ageMs : ageMs * (0.8 + 0.2 * random())),
      };
    }
    const times = timesOfMessages(
      conversation.messages.length,
      ageMs * 0.8,
      lastAgeMs,
      now,
      random,
    );
    yield* recordsOfMessages(conversation, { spaceId, speakers, listeners, times, random });
  }
}

function* recordsOfMessages(
  { messages }: Conversation,
  setting: {
    spaceId: string;
    speakers: User[];
    listeners: User[];
    times: number[];
    random: () => number;
  },
): Iterable<DataRecord> {
  const { spaceId, speakers, listeners, times, random } = setting;
  for (const [i, text] of messages.entries()) {
    // The second message is the first one by another user, which the demo's account can appreciate.
    const isExample = spaceId === EXAMPLE_IDS.space && i === 1;
    const messageId = isExample ? EXAMPLE_IDS.message : `${spaceId}-message-${i + 1}`;
    const author = speakers[i % speakers.length] as User;
    const created_at = new Date(times[i] ?? 0).toISOString();
    yield {
      type: 'message',
      message_id: messageId,
      space_id: spaceId,
      author_id: author.id,
      text,
      created_at,
    };
    for (const reader of [...speakers, ...listeners]) {
      if (reader === author || random() > 0.15) continue;
      yield {
        type: 'appreciation',
        message_id: messageId,
        user_id: reader.id,
        created_at,
      };
    }
  }
}

/** Returns ascending times between two ages, by day and in sittings. */
function timesOfMessages(
  count: number,
  firstAgeMs: number,
  lastAgeMs: number,
  now: Date,
  random: () => number,
): number[] {
  const sittings = Math.ceil(count / MESSAGES_PER_SITTING);
  let time = 0;
  return Array.from({ length: count }, (_, i) => {
    const progress = Math.floor(i / MESSAGES_PER_SITTING) / Math.max(1, sittings - 1);
    const ageMs = firstAgeMs - (firstAgeMs - lastAgeMs) * progress;
    // The last sitting is recent at any time of day.
    const start = progress === 1 ? now.getTime() - ageMs : byDay(now.getTime() - ageMs - DAY_MS);
    const pauseMs = (1 + random() * 8) * MINUTE_MS;
    time = i % MESSAGES_PER_SITTING === 0 ? Math.max(time + MINUTE_MS, start) : time + pauseMs;
    // The last sitting of an active space would end in the future.
    return Math.min(time, now.getTime() - (count - i) * MINUTE_MS);
  });
}

/** Moves a time to between 8 and 22 o'clock of the same day, and keeps the order of times. */
function byDay(time: number): number {
  const sinceMidnightMs = time % DAY_MS;
  return time - sinceMidnightMs + 8 * HOUR_MS + (sinceMidnightMs * 14) / 24;
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
