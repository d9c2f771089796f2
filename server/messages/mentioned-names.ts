/** Only this many names in a text count, so that resolving them costs little. */
const MAX_NAMES = 20;

/** Longer than any username. */
const MAX_NAME_LENGTH = 130;

const NAME_BEGIN = /(?<![\p{L}\p{Nd}\p{M}@])@(?=[\p{L}\p{Nd}._\-])/gv;

/** The characters of usernames, with single spaces in between. */
const NAME = /^(?: ?(?:[\p{L}\p{Nd}]\p{M}*|[._\-]))+/v;

/** A name cannot end before these characters. */
const CONTINUATION = /^[._\-]*[\p{L}\p{Nd}\p{M}]/v;

/**
 * Returns the names that a text may mention: for each `@` the possible usernames after it, the longest first, because
 * usernames can contain spaces. `@ada lovelace!` can mention `ada lovelace` or `ada`.
 */
export function mentionedNames(text: string): string[][] {
  const names: string[][] = [];
  for (const { index } of text.matchAll(NAME_BEGIN)) {
    const [longest = ''] = NAME.exec(text.slice(index + 1, index + 1 + MAX_NAME_LENGTH)) ?? [];
    names.push(beginningsOf(longest));
    if (names.length === MAX_NAMES) break;
  }
  return names;
}

/** Returns the beginnings of a name that end with a word, the longest first. */
function beginningsOf(name: string): string[] {
  const beginnings: string[] = [];
  for (let end = name.length; end > 0; end -= 1) {
    const isInside = name[end - 1] === ' ' || CONTINUATION.test(name.slice(end));
    if (!isInside) beginnings.push(name.slice(0, end));
  }
  return beginnings;
}
