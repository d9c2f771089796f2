import fc from 'fast-check';

/** Pieces of text that are hard to split: punctuation, marks, invisible characters, emoji, lone surrogates. */
const PIECES = [
  ...Array.from('aBcsIıİßøŁæſŉﬁΣςΆёйЁ0159²½٣०ｱﾞがゝ々ー〇・·東京都タワのไทยเน้ำ်ကكـشَאָ״עहिनक़한국ĳ'),
  ...Array.from(' \n\0_-.,:;/&\'"’´ʼ+#*@()!?…®™♯�'),
  ...['c++', 'c#', '.net', 'node.js', "l'eau", '3.14', '1,000', 'e\u0301', '\u0301', '\u0345'],
  ...['ال', 'لل', 'أ', 'ى', 'ۀ', '\u0654', '٣', '۰', 'ं', 'ँ', 'न्', 'म्', 'द', 'ब', '\u093C', '๕'],
  ...[
    '\u00AD',
    '\u200B',
    '\u200C',
    '\u200D',
    '\u200F',
    '\uFE0F',
    '\u{E0100}',
    '\u{E0067}',
    '\u20E3',
  ],
  ...['👍', '🏽', '❤', '👩', '💻', '🏴', '🇩', '🇪', '\u{E007F}', '\uD83D', '\uDE00', '\uD800'],
];

/** Texts of pieces that are hard to split. */
export const trickyText = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 24 })
  .map((parts) => parts.join(''));

/** Texts of all kinds, including lone surrogates. */
export const anyText = fc.oneof(
  trickyText,
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
);

/** Strings of random UTF-16 code units, most of them not well-formed. */
export const utf16Texts = fc
  .array(fc.integer({ min: 0, max: 0xffff }))
  .map((units) => String.fromCharCode(...units));
