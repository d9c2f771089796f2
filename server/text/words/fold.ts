import traditionalToSimplified from 'opencc-js/dict/TSCharacters';

const ASCII = /^[\0-\x7F]*$/;
const IGNORED = new RegExp(
  [
    // Invisible characters, except the ones that join emoji or spell flags.
    String.raw`[\p{DI}--[\u200D\u{E0020}-\u{E007F}]]`,
    // Zero-width joiners that do not join emoji, and tag characters that do not spell a flag.
    String.raw`(?<!\p{ExtPict}[\uFE0F\p{EMod}]*)\u200D|\u200D(?!\p{ExtPict})`,
    String.raw`(?<!\u{1F3F4}[\u{E0020}-\u{E007F}]{0,5})[\u{E0020}-\u{E007F}]`,
    // Skin tones.
    String.raw`\p{EMod}`,
    // Optional in Hebrew, Arabic and Hindi: vowel signs, hamza, nukta, tatweel.
    String.raw`[[\u0591-\u05C7\u064B-\u065F\u0670\u093C]&&\p{Mn}]|\u0640`,
  ].join('|'),
  'gv',
);
const MARKED = /([\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}])\p{Mn}+/gv;
/** The digit 0 of each script with its own digits. The digits 1 to 9 are the next nine code points. */
const ZEROS = '٠۰߀०০੦૦୦௦౦೦൦๐໐༠၀០᠐';
/** Characters that people type interchangeably but NFKC distinguishes. */
const EQUIVALENTS = new Map([
  ...(
    "ß=ss æ=ae œ=oe þ=th ø=o ł=l đ=d ð=d ħ=h ŧ=t ŋ=n ı=i ς=σ ♯=# ‘=' ’=' ‛=' ʻ=' ʼ=' " +
    'ٱ=ا ى=ي ی=ي ک=ك ة=ه ە=ه ہ=ه ँ=ं'
  )
    .split(' ')
    .map((pair) => pair.split('=') as [string, string]),
  ...Array.from(ZEROS).flatMap((zero) =>
    Array.from('0123456789', (digit, i): [string, string] => [
      String.fromCharCode(zero.charCodeAt(0) + i),
      digit,
    ]),
  ),
]);
/** Each traditional Chinese character with the first of its simplified forms. */
const FIRST_SIMPLIFIED = new Map(
  traditionalToSimplified.split('|').map((pair) => {
    const [traditional = '', simplified = ''] = pair.split(' ');
    return [traditional, simplified] as const;
  }),
);
/** Maps traditional Chinese characters to simplified ones, because people use either. */
const SIMPLIFIED = new Map(
  Array.from(FIRST_SIMPLIFIED, ([traditional, simplified]) => [
    traditional,
    // Applied twice, because the simplified form of 薴 is also a traditional form.
    FIRST_SIMPLIFIED.get(simplified) ?? simplified,
  ]),
);
const HAN = /\p{sc=Han}/gv;
const EQUIVALENT_CHARACTER = new RegExp(`[${[...EQUIVALENTS.keys()].join('')}]`, 'gv');
/**
 * The nasals of Devanagari. Its consonants form rows of five, and each row ends with a nasal. Before a consonant of its
 * row, the nasal can be written as the dot ं.
 */
const NASALS = 'ङञणनम';
const FIRST_CONSONANT = 'क'.charCodeAt(0);
const NASAL_DOT = /ं(?=[क-घच-झट-ढत-धप-भ])/g;
const NASAL_LETTER = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/g;

/**
 * Returns the same text for spellings that people treat as equal. Removes differences of compatibility forms (NFKC),
 * case, marks on Latin, Greek and Cyrillic letters, apostrophes, digits, traditional and simplified Chinese, and
 * spelling variants of Arabic, Persian, Hebrew, Hindi and Thai. Idempotent, and independent of the locale. The result
 * is stored: for what a change needs, see `tokenize.ts`.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return (
    text
      .toWellFormed()
      // Before NFKD, which splits it into a space and an accent.
      .replaceAll('´', "'")
      .normalize('NFKD')
      .toLowerCase()
      .replace(IGNORED, '')
      // Thai: two vowel signs E look like one AE, and are often typed instead.
      .replaceAll('เเ', 'แ')
      .replace(MARKED, '$1')
      .replace(EQUIVALENT_CHARACTER, (character) => EQUIVALENTS.get(character) ?? character)
      .replace(HAN, (character) => SIMPLIFIED.get(character) ?? character)
      .replace(NASAL_DOT, (_, at: number, folded: string) => nasalBefore(folded.charCodeAt(at + 1)))
      .normalize('NFC')
  );
}

/** Returns the nasal of a consonant's row, with a virama. */
function nasalBefore(consonant: number): string {
  return `${NASALS[Math.floor((consonant - FIRST_CONSONANT) / 5)]}्`;
}

/**
 * Returns the prefixes of a folded word that end in a nasal, with the nasal written as a dot. `fold` cannot replace a
 * dot at the end of an incomplete word: हिं, while a user is typing हिंदी.
 */
export function nasalPrefixes(word: string): string[] {
  return Array.from(word.matchAll(NASAL_LETTER), ({ index }) => `${word.slice(0, index)}ं`);
}

/** Returns the same key for all spellings of a tag. Keeps punctuation (`c++`, `a/b`, `100%`). Can be empty. */
export function tagKey(name: string): string {
  return fold(name)
    .replace(/[\s\p{Cc}]+/gv, ' ')
    .replace(/^[# ]+| $/g, '');
}
