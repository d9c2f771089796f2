import { type RawBuilder, sql } from 'kysely';

/** Number of code points of a message in a preview. */
const MAX_PREVIEW_LENGTH = 140;

/** SQL for the beginning of a text, one code point longer than its preview if the text is. */
export function previewed(column: string): RawBuilder<string> {
  return sql<string>`substr(${sql.ref(column)}, 1, ${sql.lit(MAX_PREVIEW_LENGTH + 1)})`;
}

/** Returns the preview of a text, of which `previewed` has selected the beginning. */
export function preview(text: string): string {
  const codePoints = [...text];
  if (codePoints.length <= MAX_PREVIEW_LENGTH) return text;
  return `${codePoints.slice(0, MAX_PREVIEW_LENGTH).join('')}…`;
}
