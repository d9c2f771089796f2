export function shorten(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/** Returns the text without line breaks and control characters, for a terminal. */
export function toOneLine(text: string): string {
  return text
    .trim()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '\ufffd');
}
