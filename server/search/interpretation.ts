/** One way to understand a query. Cursors contain it, so it consists of JSON values only. */
export interface Interpretation {
  /** The query in its most probable form. Titles that equal it come first. */
  text: string;
  words: readonly Alternative[];
  /** A space whose title equals one of these texts matches, too, like a title match. */
  names: readonly string[];
  /** The indexes of words that a match need not have. */
  optional: readonly number[];
  /** How many of the other words a match can lack, whichever they are. */
  missing: number;
}

/** The alternatives for one word. A text can have several words, a form is one whole word. */
export type Alternative = readonly [texts: readonly string[], forms: readonly string[]];

/** Returns an interpretation that requires one of the alternatives of each word. */
export function interpret(
  words: readonly Alternative[],
  options: Partial<Interpretation> = {},
): Interpretation {
  const text = words.map(([[first]]) => first).join(' ');
  return { text, words, names: [], optional: [], missing: 0, ...options };
}
