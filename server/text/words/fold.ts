import traditionalToSimplified from 'opencc-js/dict/TSCharacters';

const ASCII = /^[\0-\x7F]*$/;
const IGNORED = new RegExp(
  [
    // Invisible characters, except those that join several emoji into one.
    String.raw`[\p{DI}--[\u200D\u{E0020}-\u{E007F}]]`,
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
/** The digit 0 of each script with its own digits. The other nine follow it. */
const ZEROS = '٠۰߀०০੦૦୦௦౦೦൦๐໐༠၀០᠐';
/** Characters that people type for each other but Unicode's normalisation distinguishes. */
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
const FIRST_FORMS = new Map(
  traditionalToSimplified.split('|').map((pair) => {
    const [traditional = '', simplified = ''] = pair.split(' ');
    return [traditional, simplified] as const;
  }),
);
/** Traditional Chinese characters with their simplified form. People use either. */
const SIMPLIFIED = new Map(
  Array.from(FIRST_FORMS, ([traditional, simplified]) => [
    traditional,
    // The simplified form of 薴 is itself the traditional form of another character.
    FIRST_FORMS.get(simplified) ?? simplified,
  ]),
);
const HAN = /\p{sc=Han}/gv;
const SPECIAL = new RegExp(`[${[...EQUIVALENTS.keys()].join('')}]`, 'gv');
/** The nasals of Devanagari's consonant rows. The dot ं may replace one of them: हिंदी for हिन्दी. */
const NASALS = 'ङञणनम';
const NASAL_DOT = /ं(?=[क-घच-झट-ढत-धप-भ])/g;
const NASAL_LETTER = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/g;

/**
 * Returns the same text for spellings that people treat as the same: compatibility forms (NFKC), case, marks on Latin,
 * Greek and Cyrillic letters, apostrophes, digits, traditional and simplified Chinese, and spelling variants of Arabic,
 * Persian, Hebrew, Hindi and Thai. Idempotent, and independent of the locale.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .toWellFormed()
    .replaceAll('´', "'")
    .normalize('NFKD')
    .toLowerCase()
    .replace(IGNORED, '')
    .replaceAll('เเ', 'แ')
    .replace(MARKED, '$1')
    .replace(SPECIAL, (character) => EQUIVALENTS.get(character) ?? character)
    .replace(HAN, (character) => SIMPLIFIED.get(character) ?? character)
    .replace(NASAL_DOT, (_, at: number, folded: string) => nasalBefore(folded.charCodeAt(at + 1)))
    .normalize('NFC');
}

/** Returns the nasal of a consonant's row of five, without its vowel. */
function nasalBefore(consonant: number): string {
  return `${NASALS[Math.floor((consonant - 0x915) / 5)]}्`;
}

/** Returns the word's prefixes up to each nasal, written as a dot: a user who types हिंदी has typed हिं on the way. */
export function nasalPrefixes(word: string): string[] {
  return Array.from(word.matchAll(NASAL_LETTER), ({ index }) => `${word.slice(0, index)}ं`);
}

/** Returns a key that is equal for spellings of the same tag. Keeps punctuation (`c++`, `a/b`, `100%`). May be empty. */
export function tagKey(name: string): string {
  return fold(name)
    .replace(/[\s\p{Cc}]+/gv, ' ')
    .replace(/^[# ]+| $/g, '');
}
