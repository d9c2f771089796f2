import { DomainError } from '../errors.ts';

// Rules for the characters of text fields.

/** Returns whether the database and JSON keep a text unchanged: well-formed Unicode without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Returns whether a text consists only of white space and other invisible (default-ignorable) characters. */
function isBlank(text: string): boolean {
  return !/[^\s\p{DI}]/v.test(text);
}

/** Control characters (general category Cc). */
export const CONTROLS = /\p{Cc}/v;

export const CONTROLS_EXCEPT_LINE_FEED = /[\p{Cc}--\n]/v;

/** Control characters, which include line breaks, and Unicode's line and paragraph separators. */
const CONTROLS_AND_LINE_SEPARATORS = /[\p{Cc}\u2028\u2029]/v;

const CONTROLS_EXCEPT_LINE_BREAKS_AND_TABS = /[\p{Cc}--[\n\r\t]]/v;

/**
 * Embeddings, overrides and isolates of the bidirectional algorithm (UAX 9), which can reverse the text that a page
 * shows next. Marks such as U+200E are no controls of this kind, and right-to-left texts need them.
 */
const DIRECTION_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/;

/**
 * Rejects control characters.
 * @param controls the rejected ones
 * @param subject begins the error message, such as `A title`
 * @param pointer JSON pointer to the text in the request
 * @param exception ends the error message, such as ` other than tabs`
 * @throws DomainError `invalid_request`
 */
export function rejectControls(
  text: string,
  controls: RegExp,
  subject: string,
  pointer: string,
  exception = '',
): void {
  if (!controls.test(text)) return;
  const detail = `${subject} must not contain control characters${exception}.`;
  throw new DomainError('invalid_request', detail, [
    { pointer, code: 'forbidden_characters', message: 'has control characters' },
  ]);
}

/** Rejects characters that can reverse the text that a page shows next. See `rejectControls`. */
export function rejectDirectionControls(text: string, subject: string, pointer: string): void {
  if (!DIRECTION_CONTROLS.test(text)) return;
  throw new DomainError(
    'invalid_request',
    `${subject} must not contain characters that change the direction of text, U+202A to U+202E and U+2066 to U+2069.`,
    [
      {
        pointer,
        code: 'forbidden_characters',
        message: 'has characters that change the direction of text',
      },
    ],
  );
}

/**
 * Returns a line of text without surrounding white space.
 * @param subject begins the error message, such as `A title`
 * @param pointer JSON pointer to the text in the request
 * @throws DomainError `invalid_request`
 */
export function parseLine(text: string, subject: string, pointer: string): string {
  const line = text.trim();
  rejectBlank(line, subject, pointer);
  rejectControls(line, CONTROLS_AND_LINE_SEPARATORS, subject, pointer, ' or line breaks');
  rejectDirectionControls(line, subject, pointer);
  return line;
}

/**
 * Rejects a blank text, and control characters other than line breaks and tabs.
 * @param subject begins the error message, such as `A message`
 * @param pointer JSON pointer to the text in the request
 * @throws DomainError `invalid_request`
 */
export function assertMultilineText(text: string, subject: string, pointer: string): void {
  rejectBlank(text, subject, pointer);
  const controls = CONTROLS_EXCEPT_LINE_BREAKS_AND_TABS;
  rejectControls(text, controls, subject, pointer, ' other than line breaks and tabs');
}

function rejectBlank(text: string, subject: string, pointer: string): void {
  if (!isBlank(text)) return;
  throw new DomainError('invalid_request', `${subject} must not be blank.`, [
    { pointer, code: 'blank', message: 'is blank' },
  ]);
}

export function countCodePoints(text: string): number {
  return Array.from(text).length;
}
