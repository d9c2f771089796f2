/**
 * An unlimited vocabulary. Each word is derived from its rank alone, so that all texts share one vocabulary without a
 * stored list. README.md compares the resulting texts with real ones.
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

/** English function words, the most frequent first. */
const functionWords =
  `for a and to the with of in an on that from is your by or as using it this you at all not be can are which into
  when no its any more has only if about how other use without will one other than but so we our`.split(
    /\s+/,
  );

const drawFunctionWord = zipf(functionWords.length, 0.9);

export function functionWord(draw: Random): string {
  return functionWords[drawFunctionWord(draw())] as string;
}

const stemRank = endlessZipf({ exponent: 0.8, shift: 1, bend: 1_000, tail: 2 });

/** Draws the rank of a stem. Rank 0 is the most frequent. */
export function drawStem(draw: Random): number {
  return stemRank(draw());
}

const LATIN = {
  onsets: weighted('s t c p r m d b l f n g h v k w j st tr pl ch sh gr br th pr cl z y sc qu x'),
  vowels: weighted('e a i o u ea ou io ai ee y'),
  codas: weighted('n r l s t m ng nt x ck st ct p d'),
};
const ACCENTED = {
  onsets: LATIN.onsets,
  vowels: weighted('a e é o i u ö ä á ü ó è í ñ ã å ø ê ı ő'),
  codas: weighted('n s r l ç t š ń ž ł ß m'),
};
const CYRILLIC = {
  onsets: weighted('с п к т н в р м д л б з г ст пр х ч ш ж ц тр щ'),
  vowels: weighted('о а е и у ы я ё ю ю'),
  codas: weighted('н т р й с л к м ть ст'),
};
const GREEK = {
  onsets: weighted('τ σ κ π μ ν δ λ ρ γ φ χ β θ στ πρ ξ ζ ψ'),
  vowels: weighted('α ο ι ε η ά ί υ ό έ ου ω ή αι ώ'),
  codas: weighted('ν ς ρ λ κ'),
};
type Syllables = typeof LATIN;

/** Rarer stems are generated each time, so two of them may be equal. */
const CACHED_STEMS = 30_000;
const cachedStems: string[] = [];
const knownWords = new Set(functionWords);

/** Returns the stem of a rank. Frequent stems are short and distinct. */
export function stemOf(rank: number): string {
  while (rank < CACHED_STEMS && cachedStems.length <= rank)
    cachedStems.push(newStem(cachedStems.length));
  return cachedStems[rank] ?? spellStem(rank, 0);
}

function newStem(rank: number): string {
  for (let attempt = 0; ; attempt += 1) {
    const stem = spellStem(rank, attempt);
    if (knownWords.has(stem)) continue;
    knownWords.add(stem);
    return stem;
  }
}

function spellStem(rank: number, attempt: number): string {
  const draw = seededRandom(hash(rank, attempt));
  // Abbreviations such as js, api, sdk.
  if (draw() < (rank < 400 ? 0.12 : 0.03)) return initials(draw, 2 + Math.floor(draw() * 2.5));
  const syllables = 1 + (draw() < 0.8 ? 1 : 0) + Math.floor(draw() * (rank > 100 ? 2 : 1.2));
  return spell(LATIN, draw, syllables);
}

function initials(draw: Random, length: number): string {
  return Array.from(
    { length },
    () => 'scpmdtbralfgiexnvwhjkquyoz'[Math.floor(draw() ** 1.4 * 26)],
  ).join('');
}

function spell({ onsets, vowels, codas }: Syllables, draw: Random, syllables: number): string {
  let word = draw() < 0.22 ? '' : onsets(draw);
  for (let i = 0; i < syllables; i += 1) {
    if (i > 0) word += onsets(draw);
    word += vowels(draw);
    if (draw() < 0.4) word += codas(draw);
  }
  return word;
}

const suffixes = [
  '',
  's',
  'er',
  'ing',
  'ed',
  'or',
  'ion',
  'able',
  'e',
  'al',
  'ive',
  'ly',
  'ers',
  'ment',
  'ions',
  'ity',
];
const drawSuffix = weightedIndex([60, 14, 5, 5, 4, 2, 3, 1.5, 1, 1, 0.8, 1, 1, 1, 0.8, 0.5]);
const prefixes = ['re', 'un', 'auto', 'multi', 'pre', 'sub', 'inter', 'de', 'micro', 'non'];

/** Draws a word of a stem's family: the stem itself, an inflection, or a derived word. */
export function wordOfFamily(draw: Random, rank: number): string {
  const stem = stemOf(rank);
  const at = draw();
  // Rare words are seldom inflected, and neither are names: half of the stems, by their hash.
  if (at > 0.2 && (rank > 3_000 || hash(rank, 7) & 1)) return stem;
  const suffix = suffixes[drawSuffix(draw())] as string;
  const word = stem + (suffix && stem.endsWith('e') ? suffix.replace(/^e/, '') : suffix);
  return at < 0.015 ? prefixes[Math.floor(draw() * prefixes.length)] + word : word;
}

/** Draws a misspelling of a word. The same misspellings recur, some more often than others. */
export function misspelt(draw: Random, word: string): string {
  const variant = Math.min(1_000, Math.floor(draw() ** -0.8));
  return mistype(seededRandom(hash(hashOfText(word), variant)), word);
}

/** Makes one edit to a word after its first letter: a deletion, doubling, transposition or substitution. */
export function mistype(draw: Random, word: string): string {
  const letters = Array.from(word);
  const at = 1 + Math.floor(draw() * (letters.length - 1));
  const kind = draw();
  if (kind < 0.3) letters.splice(at, 1);
  else if (kind < 0.5) letters.splice(at, 0, letters[at] as string);
  else if (kind < 0.75 && at + 1 < letters.length) {
    letters.splice(at, 2, letters[at + 1] as string, letters[at] as string);
  } else letters[at] = 'eaiosntrlcuyk'[Math.floor(draw() * 13)] as string;
  return letters.join('');
}

/** Draws a version, a number, a year, or letters with digits: `v2`, `3.1.4`, `12`, `2024`, `h264`. */
export function numbered(draw: Random): string {
  const number = Math.floor(draw() ** -0.9);
  const kind = draw();
  if (kind < 0.25) return `v${number}`;
  if (kind < 0.4)
    return `${number}.${Math.floor(draw() * 20)}${draw() < 0.5 ? `.${Math.floor(draw() * 20)}` : ''}`;
  if (kind < 0.55) return String(number);
  if (kind < 0.65) return String(2026 - Math.floor(draw() ** 2 * 20));
  if (kind < 0.85)
    return `${initials(draw, 1 + Math.floor(draw() * 2))}${1 + Math.floor(draw() ** 2 * 64)}`;
  return `${stemOf(drawStem(draw))}${2 + Math.floor(draw() ** 2 * 8)}`;
}

const drawEmoji = zipf(24, 0.9);
const EMOJI = '🚀 ✨ 🔥 ⚡️ 🎉 📦 🎨 🛠️ 🤖 🌈 💅 🔒 🧪 🐶 🍃 ❤️ 🌍 📝 👋🏽 👩‍💻 🇪🇺 🇯🇵 🏳️‍🌈 🥳'.split(
  ' ',
);

export function emoji(draw: Random): string {
  return EMOJI[drawEmoji(draw())] as string;
}

/** A language other than that of the vocabulary. */
export interface Language {
  /** Its share of the texts in such languages. */
  share: number;
  /** Draws a text of `count` words. */
  words: (draw: Random, count: number) => string;
}

const languages: readonly Language[] = [
  { share: 0.4, words: syllabic(ACCENTED) },
  { share: 0.16, words: syllabic(CYRILLIC) },
  { share: 0.03, words: syllabic(GREEK) },
  { share: 0.05, words: spaced(hangulWord) },
  { share: 0.04, words: spaced(arabicWord) },
  { share: 0.22, words: unspaced('，', hanWord) },
  { share: 0.07, words: unspaced('、', japaneseWord) },
  { share: 0.03, words: unspaced(' ', thaiWord) },
];

const drawLanguageIndex = weightedIndex(languages.map(({ share }) => share));

export function drawLanguage(draw: Random): Language {
  return languages[drawLanguageIndex(draw())] as Language;
}

const foreignRank = endlessZipf({ exponent: 0.9, shift: 2, bend: 1_000, tail: 1.6 });

function syllabic(syllables: Syllables): Language['words'] {
  return spaced((draw) => {
    const rank = foreignRank(draw());
    return spell(syllables, seededRandom(hash(rank, 31)), rank < 12 ? 1 : 2 + (rank % 3));
  });
}

type DrawWord = (draw: Random, position: number) => string;

function spaced(drawWord: DrawWord): Language['words'] {
  return (draw, count) => Array.from({ length: count }, (_, i) => drawWord(draw, i)).join(' ');
}

/** Words without spaces between them, with a comma before one in five. */
function unspaced(comma: string, drawWord: DrawWord): Language['words'] {
  return (draw, count) => {
    let text = '';
    for (let i = 0; i < count; i += 1) {
      if (i > 0 && draw() < 0.2) text += comma;
      text += drawWord(draw, i);
    }
    return text;
  };
}

const drawHan = zipf(3_000, 0.85);

function hanWord(draw: Random): string {
  const word = seededRandom(hash(foreignRank(draw()), 32));
  const han = () => String.fromCodePoint(0x4e00 + ((hash(drawHan(word()), 33) >>> 0) % 0x51a5));
  return word() < 0.2 ? han() : han() + han();
}

/** Every second word is a particle. */
function japaneseWord(draw: Random, position: number): string {
  if (position % 2 === 1) return pick(draw, 'の を に で は と が も');
  if (draw() < 0.5) return hanWord(draw);
  const word = seededRandom(hash(foreignRank(draw()), 34));
  return Array.from({ length: 3 + Math.floor(word() * 3) }, () =>
    String.fromCodePoint(0x30a2 + Math.floor(word() * 0x4a)),
  ).join('');
}

function hangulWord(draw: Random): string {
  const word = seededRandom(hash(foreignRank(draw()), 35));
  return Array.from({ length: 2 + Math.floor(word() * 2.5) }, () => {
    const [lead, vowel, tail] = [word() * 19, word() ** 1.5 * 21, Math.max(0, word() * 40 - 20)];
    return String.fromCodePoint(
      0xac00 + (Math.floor(lead) * 21 + Math.floor(vowel)) * 28 + Math.floor(tail),
    );
  }).join('');
}

function arabicWord(draw: Random): string {
  const word = seededRandom(hash(foreignRank(draw()), 36));
  const letters = Array.from({ length: 3 + Math.floor(word() * 3) }, () =>
    pick(word, 'ا ل م ن ر ت ب ي و س د ع ك ق ف ح ج ش ص ط خ ه ة ذ ز ض غ ث'),
  );
  return (draw() < 0.3 ? 'ال' : '') + letters.join('');
}

function thaiWord(draw: Random): string {
  const word = seededRandom(hash(foreignRank(draw()), 37));
  return Array.from({ length: 1 + Math.floor(word() * 2) }, () => {
    const consonant = () => pick(word, 'น ก ร ท ม ส ค ว ย ล ต บ ด ป ห พ จ ช ง ข อ ผ ซ ฟ');
    const before = word() < 0.25 ? pick(word, 'เ แ ไ โ') : '';
    const after = before ? '' : pick(word, 'า ี ิ ั ุ ู ะ');
    return before + consonant() + after + (word() < 0.4 ? consonant() : '');
  }).join('');
}

function pick(draw: Random, letters: string): string {
  return weighted(letters)(draw);
}

/** Returns a function that draws one of the letters, earlier ones more often. */
function weighted(letters: string): (draw: Random) => string {
  const all = letters.split(' ');
  return (draw) => all[Math.floor(draw() ** 1.6 * all.length)] as string;
}
