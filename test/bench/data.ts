/**
 * The data that everything is measured on: made from a seed, so that it is the same on every machine. Each space can
 * be made by its number alone, so that queries can be drawn from what is really there.
 */

export interface Space {
  space_id: string;
  creator: number;
  title: string;
  description: string;
  tags: string[];
  /** Users besides the creator. */
  participants: number[];
}

/** A random number from 0 to 1, 1 left out. */
export type Random = () => number;

/** Mulberry32 (Tommy Ettinger, 2017). */
export function seededRandom(seed: number): Random {
  let state = Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const USERS = 5_000;
const VOCABULARY = 80_000;
const TAGS = 5_000;
const BEGINNING = Date.UTC(2020, 0, 1);

const random = seededRandom(1);
const spellings = spellWords(VOCABULARY + 30 + TAGS);

/** Words that are in many spaces: the first in 40 % of them, the last in 10 %. */
export const frequentWords = spellings
  .slice(0, 30)
  .map((word, i, { length }) => ({ word, share: 0.4 - (0.3 * i) / (length - 1) }));

/** All others, by falling frequency: Zipf's law with Mandelbrot's shift, the first in about 4 % of the spaces. */
export const words = spellings.slice(30, 30 + VOCABULARY);

/** By falling frequency, after Zipf: the first on about a fifth of the spaces. */
export const tags = spellings.slice(30 + VOCABULARY);

const drawWordRank = zipf(VOCABULARY, 1.05, 60);
const drawTagRank = zipf(TAGS, 1, 0);

/** The share of all words that the word of this rank makes up. */
export const shareOfWord = drawWordRank.share;

/** How many words that are not among the frequent ones a space has, on average. */
export const MEAN_WORDS = 16;

export function drawWord(draw: Random): string {
  // One word in 300 is nobody else's: a name, a misspelling.
  return draw() < 1 / 300 ? spellWord(draw, 5) : (words[drawWordRank(draw())] as string);
}

export function drawTag(draw: Random): string {
  return tags[drawTagRank(draw())] as string;
}

/** Answers numbers from 0 to count - 1 of random numbers, the lower the more often. */
export function zipf(count: number, exponent: number, shift: number) {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let rank = 0; rank < count; rank += 1) {
    sum += (rank + 1 + shift) ** -exponent;
    sums[rank] = sum;
  }
  const drawRank = (at: number) => {
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) < at * sum) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return Object.assign(drawRank, {
    share: (rank: number) => (rank + 1 + shift) ** -exponent / sum,
  });
}

export function spaceOf(number: number): Space {
  const draw = seededRandom(number + 1_000);
  const title = drawWords(draw, 2 + Math.floor(draw() * 4));
  const description = drawWords(draw, 7 + Math.floor(draw() * 12));
  for (const { word, share } of frequentWords) {
    if (draw() < share) insert(draw, draw() < 0.2 ? title : description, word);
  }
  const tagCount = Math.floor(draw() * 5);
  // A quarter has participants, few of them many: Pareto's law.
  const count = draw() < 0.75 ? 0 : Math.min(3_000, Math.floor((1 - draw()) ** (-1 / 1.25)));
  const creator = Math.floor(draw() ** 2 * USERS);
  // 4,999 and USERS have no common divisor but 1, and so none is met twice.
  const participants = Array.from({ length: count }, (_, i) => (creator + (i + 1) * 4_999) % USERS);
  return {
    space_id: idOf('s', number),
    creator,
    title: capitalised(fitting(title, 120)),
    description: capitalised(fitting(description, 500)),
    tags: [...new Set(Array.from({ length: tagCount }, () => drawTag(draw)))],
    participants,
  };
}

/** Members who have written a lot, for the statistics of profiles. All have the password below. */
export const writers = [10, 1_000, 100_000].map((messages) => ({
  messages,
  user_id: `writer-${messages}`,
  email: `writer-${messages}@example.org`,
}));
export const WRITERS_PASSWORD = 'bench bench bench';
const WRITERS_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$6hUPCYSwKE/mr0UCHp0iYg$FjDB3nQQafuReK1l48SPtJTVRZVmFtjoKtCu4ivJUPo';

/** A service's data in the exchange format, line by line, without line ends. */
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
    const username = spellings[i] as string;
    yield line('user', { user_id, username, email, password_hash: WRITERS_HASH });
    const joined = Math.min(spaces, Math.ceil(messages / 200) + 4);
    for (let j = 0; j < joined; j += 1) {
      yield line('participant', { space_id: idOf('s', j), user_id, joined_at: timeOf(j) });
    }
    for (let j = 0; j < messages; j += 1) {
      const message_id = `${user_id}-${j}`;
      const [space_id, created_at] = [idOf('s', j % joined), timeOf(j)];
      const text = drawWords(draw, 3 + Math.floor(draw() * 10)).join(' ');
      yield line('message', { message_id, space_id, author_id: user_id, text, created_at });
      if (j % 4 === 0) yield line('appreciation', { message_id, user_id: idOf('u', j % USERS) });
    }
  }
}

/** As a service is exported: 5 % users, 10 % spaces, 25 % participants, 50 % messages, 10 % appreciations. */
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
        const text = drawWords(draw, 5 + Math.floor(draw() * 25)).join(' ');
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
  // Of letters that look like no others.
  const letters = [...String(1_000_000 + number)].map((digit) => 'abcdefghjk'[Number(digit)]);
  return {
    user_id: idOf('u', number),
    username: `u${letters.join('')}`,
    email: `user-${number}@example.org`,
    created_at: timeOf(number),
  };
}

/** As long as the ids that the service makes, and in no order. */
function idOf(kind: string, number: number): string {
  const mixed = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  return `${kind}${mixed.toString(16).padStart(8, '0')}${String(number).padStart(13, '0')}`;
}

function timeOf(number: number): string {
  return new Date(BEGINNING + number * 60_000).toISOString();
}

function drawWords(draw: Random, count: number): string[] {
  return Array.from({ length: count }, () => drawWord(draw));
}

/** The words as a text of so many characters at most. */
function fitting(list: string[], length: number): string {
  const text = list.join(' ');
  return text.length <= length ? text : fitting(list.slice(0, -1), length);
}

function insert(draw: Random, list: string[], word: string): void {
  list.splice(Math.floor(draw() * (list.length + 1)), 0, word);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Words that can be told apart and spoken, the first ones short. */
function spellWords(count: number): string[] {
  const found = new Set<string>();
  while (found.size < count) {
    const syllables = found.size < 300 ? 2 : 2 + Math.floor(random() * 3);
    found.add(spellWord(random, syllables));
  }
  return [...found];
}

function spellWord(draw: Random, syllables: number): string {
  let word = '';
  for (let i = 0; i < syllables; i += 1) {
    word += pick(draw, 's t k m p b r l n d f g h v j st tr pl ch sh gr br th z w');
    word += pick(draw, 'a e i o u ea ou ai y');
    if (draw() < 0.35) word += pick(draw, 'n r l s t m ng nd st');
  }
  return word;
}

/** Earlier ones more often, as with the letters of a language. */
function pick(draw: Random, letters: string): string {
  const all = letters.split(' ');
  return all[Math.floor(draw() ** 1.7 * all.length)] as string;
}
