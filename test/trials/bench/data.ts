/**
 * The data for all measurements, generated from a seed and therefore the same on every machine. Each space is derived
 * from its number alone, so that queries can be drawn from existing spaces.
 */
import {
  endlessZipf,
  hash,
  hashOfText,
  type Random,
  seededRandom,
  weightedIndex,
  zipf,
} from './random.ts';
import {
  drawLanguage,
  drawStem,
  emoji,
  functionWord,
  misspelt,
  numbered,
  stemOf,
  wordOfFamily,
} from './vocabulary.ts';

export interface Text {
  title: string;
  description: string;
}

export interface Space extends Text {
  space_id: string;
  creator: number;
  tags: string[];
  /** Users besides the creator. */
  participants: number[];
}

export const USERS = 5_000;
const TAGS = 5_000;
const START_TIME = Date.UTC(2020, 0, 1);

/** In descending order of frequency. About a fifth of the spaces have the first. */
export const tags = Array.from({ length: TAGS }, (_, i) => stemOf(i * 3));
const drawTagRank = zipf(TAGS, 1);

export function drawTag(draw: Random): string {
  return tags[drawTagRank(draw())] as string;
}

export function spaceOf(number: number): Space {
  const draw = seededRandom(hash(number, 44));
  const tagCount = Math.floor(draw() * 5);
  // A quarter of the spaces have participants besides the creator. Their number follows Pareto's law.
  const count = draw() < 0.75 ? 0 : Math.min(3_000, Math.floor((1 - draw()) ** (-1 / 1.25)));
  const creator = Math.floor(draw() ** 2 * USERS);
  // 4,999 and USERS are coprime, so no user participates twice.
  const participants = Array.from({ length: count }, (_, i) => (creator + (i + 1) * 4_999) % USERS);
  return {
    space_id: idOf('s', number),
    creator,
    ...textOf(number),
    tags: [...new Set(Array.from({ length: tagCount }, () => drawTag(draw)))],
    participants,
  };
}

/** Returns the texts of the space with this number. Takes about 5 µs. */
export function textOf(number: number): Text {
  const draw = seededRandom(number + 1_000);
  const topic = drawTopic(draw);
  const parts = drawNameParts(draw, topic);
  let title = nameOf(draw, topic, parts);
  let description = '';
  const kind = draw();
  if (kind < 0.015) {
    const language = drawLanguage(draw);
    if (draw() < 0.5) title = language.words(draw, 1 + parts.length);
    description = language.words(draw, drawLength(draw));
  } else if (kind < 0.07) {
    // Copied from another space on this topic.
    const copied = seededRandom(hash(topic.number, Math.floor(draw() * 3)));
    description = describe(copied, topic, []);
  } else if (kind < 0.87) {
    description = describe(draw, topic, parts);
  }
  if (draw() < 0.008) description = `${emoji(draw)} ${description}`.trim();
  return { title: truncate(title, 120), description: truncate(capitalised(description), 500) };
}

/** The topic of a space. It determines many of its words. */
interface Topic {
  number: number;
  /** `acme` in `acme/text-editor`; null if the title has no publisher. */
  publisher: string | null;
}

const topicRank = endlessZipf({ exponent: 0.7, shift: 1, bend: 2_000, tail: 2 });
const publisherRank = endlessZipf({ exponent: 0.7, shift: 0.5, bend: 500, tail: 1.7 });

function drawTopic(draw: Random): Topic {
  if (draw() > 0.47) return { number: topicRank(draw()), publisher: null };
  const rank = publisherRank(draw());
  return { number: hash(rank, 41), publisher: publisherName(rank) };
}

function publisherName(rank: number): string {
  const draw = seededRandom(hash(rank, 42));
  const first = stemOf(Math.floor(draw() * (500 + rank)));
  const form = draw();
  if (form < 0.4) return first;
  const second = stemOf(drawStem(draw));
  return form < 0.65 ? `${first}-${second}` : first + second;
}

const drawPartCount = weightedIndex([0, 25, 37, 26, 12]);
const baseRank = zipf(100, 1.2);

function drawNameParts(draw: Random, { number }: Topic): string[] {
  return Array.from({ length: drawPartCount(draw()) }, (_, i) => {
    const kind = draw();
    if (kind < 0.03) return numbered(draw);
    // A rare name.
    if (kind < 0.07) return stemOf(2_000 + drawStem(draw) * 50);
    // A platform that many others build on, as in `react-…`.
    if (i === 0 && kind < 0.28) return stemOf(baseRank(draw()));
    return kind < 0.4 ? topicWord(draw, number) : anyWord(draw);
  });
}

const NAME_JOINTS = ['-', ' ', '.', '_', ''];
const drawNameJoint = weightedIndex([66, 22, 4, 2, 6]);

function nameOf(draw: Random, { publisher }: Topic, parts: string[]): string {
  const joint = NAME_JOINTS[drawNameJoint(draw())] as string;
  if (joint === ' ') {
    return (publisher === null ? parts : [publisher, ...parts]).map(capitalised).join(' ');
  }
  const name = joint === '' ? camelCased(parts) : parts.join(joint);
  return publisher === null ? name : `${publisher}/${name}`;
}

function describe(draw: Random, topic: Topic, nameParts: readonly string[]): string {
  const unused = [...nameParts];
  const words = Array.from({ length: drawLength(draw) }, () => {
    const kind = draw();
    if (kind < 0.3) return functionWord(draw);
    if (kind < 0.48 && unused.length > 0) return unused.pop() as string;
    if (kind < 0.65) return decorated(draw, topicWord(draw, topic.number));
    return decorated(draw, kind < 0.66 ? numbered(draw) : anyWord(draw));
  });
  return words.join(' ') + (draw() < 0.2 ? '.' : '');
}

/** Draws the number of words in a description: lognormal, at most 30. */
function drawLength(draw: Random): number {
  const normal = Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  return Math.max(1, Math.min(30, Math.round(8 * Math.exp(0.5 * normal))));
}

/** Draws one of the forty words of a topic, the first ones more often. */
function topicWord(draw: Random, topic: number): string {
  const own = seededRandom(hash(topic, 43 + Math.floor(draw() ** 2 * 40)));
  return wordOfFamily(draw, drawStem(own));
}

/** Draws a word regardless of the topic. */
function anyWord(draw: Random): string {
  return wordOfFamily(draw, drawStem(draw));
}

/** Misspells some words, joins some with another word, and adds some commas. */
function decorated(draw: Random, word: string): string {
  const kind = draw();
  if (kind < 0.003) return word.length > 4 ? misspelt(draw, word) : word;
  if (kind < 0.033) return `${word}-${companionOf(draw, word)}`;
  if (kind < 0.039) return `${word}/${companionOf(draw, word)}`;
  if (kind < 0.044) return `${word}_${companionOf(draw, word)}`;
  if (kind < 0.055) return `${word}.${stemOf(Math.floor(draw() * 12))}`;
  if (kind < 0.085) return camelCased([word, companionOf(draw, word)]);
  return kind < 0.14 ? `${word},` : word;
}

/** Draws a word that is often joined with this one, like `source` in `open-source`. */
function companionOf(draw: Random, word: string): string {
  const choice = Math.min(50, Math.floor(1 / draw()));
  return stemOf(drawStem(seededRandom(hash(hashOfText(word), choice))));
}

function camelCased(parts: string[]): string {
  return parts.map((part, i) => (i === 0 ? part : capitalised(part))).join('');
}

/** Accounts with few, some and many messages, for the statistics of profiles. */
export const writers = [10, 1_000, 100_000].map((messages) => ({
  messages,
  user_id: `writer-${messages}`,
  email: `writer-${messages}@example.org`,
}));
export const WRITERS_PASSWORD = 'bench bench bench';
const WRITERS_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$6hUPCYSwKE/mr0UCHp0iYg$FjDB3nQQafuReK1l48SPtJTVRZVmFtjoKtCu4ivJUPo';

/** Yields the data of a service in the export format, as lines without line breaks. */
export function* recordsOfService(spaces: number): Generator<string> {
  for (let i = 0; i < USERS; i += 1) yield line('user', userOf(i));
  for (let i = 0; i < spaces; i += 1) {
    const { participants, creator, ...space } = spaceOf(i);
    const created_at = timeOf(i);
    yield line('space', { ...space, creator_id: idOf('u', creator), created_at });
    for (const user of participants) {
      const user_id = idOf('u', user);
      yield line('participant', { space_id: space.space_id, user_id, joined_at: created_at });
    }
  }
  const draw = seededRandom(2);
  for (const [i, { user_id, email, messages }] of writers.entries()) {
    const username = `writer${'abc'[i]}`;
    yield line('user', { user_id, username, email, password_hash: WRITERS_HASH });
    const joined = Math.min(spaces, Math.ceil(messages / 200) + 4);
    for (let j = 0; j < joined; j += 1) {
      yield line('participant', { space_id: idOf('s', j), user_id, joined_at: timeOf(j) });
    }
    for (let j = 0; j < messages; j += 1) {
      const message_id = `${user_id}-${j}`;
      const [space_id, created_at] = [idOf('s', j % joined), timeOf(j)];
      const text = message(draw, 3 + Math.floor(draw() * 10));
      yield line('message', { message_id, space_id, author_id: user_id, text, created_at });
      if (j % 4 === 0) yield line('appreciation', { message_id, user_id: idOf('u', j % USERS) });
    }
  }
}

/** Yields a typical export: 5 % users, 10 % spaces, 25 % participants, 50 % messages, 10 % appreciations. */
export function* mixedRecords(count: number): Generator<string> {
  const draw = seededRandom(3);
  const users = Math.round(count / 20);
  for (let i = 0; i < users; i += 1) yield line('user', userOf(i));
  for (let i = 0; i < count / 20; i += 1) {
    const created_at = timeOf(i);
    const creator = Math.floor(draw() * users);
    const someone = (j: number) => idOf('u', (creator + j) % users);
    const members = [someone(1), someone(2), someone(3)];
    for (const [half, space_id] of [idOf('s', 2 * i), idOf('s', 2 * i + 1)].entries()) {
      const { title, description, tags } = spaceOf(2 * i + half);
      const creator_id = someone(0);
      yield line('space', { space_id, creator_id, title, description, tags, created_at });
      for (const user_id of members.slice(half)) {
        yield line('participant', { space_id, user_id, joined_at: created_at });
      }
      for (let j = 0; j < 5; j += 1) {
        const message_id = `${idOf('m', i)}-${half}${j}`;
        const text = message(draw, 5 + Math.floor(draw() * 25));
        yield line('message', { message_id, space_id, author_id: creator_id, text, created_at });
      }
      const appreciation = { message_id: `${idOf('m', i)}-${half}0`, user_id: members[2] };
      yield line('appreciation', { ...appreciation, created_at });
    }
  }
}

function line(type: string, fields: object): string {
  return JSON.stringify({ type, ...fields });
}

function userOf(number: number) {
  // Only letters without confusables, so that usernames are unique.
  const letters = [...String(1_000_000 + number)].map((digit) => 'abcdefghjk'[Number(digit)]);
  return {
    user_id: idOf('u', number),
    username: `u${letters.join('')}`,
    email: `user-${number}@example.org`,
    created_at: timeOf(number),
  };
}

/** Returns an id with the length of generated ids. The ids of consecutive numbers are unordered. */
function idOf(kind: string, number: number): string {
  const mixed = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  return `${kind}${mixed.toString(16).padStart(8, '0')}${String(number).padStart(13, '0')}`;
}

function timeOf(number: number): string {
  return new Date(START_TIME + number * 60_000).toISOString();
}

function message(draw: Random, count: number): string {
  return Array.from({ length: count }, () =>
    draw() < 0.35 ? functionWord(draw) : anyWord(draw),
  ).join(' ');
}

/** Truncates a text to whole words within a number of characters. */
function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = text.lastIndexOf(' ', length);
  return text.slice(0, end > 0 ? end : length);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
