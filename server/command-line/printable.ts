/** Returns a text in one line, with escapes for characters that change the display of a terminal. */
export function printable(text: string): string {
  return text.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Returns a text in quotes and in one line, so that its end is visible. */
export function quoted(text: string): string {
  return printable(JSON.stringify(text));
}
