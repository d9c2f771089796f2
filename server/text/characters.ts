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
 * Returns a line of text without surrounding white space.
 * @param subject begins the error message, such as `A title`
 * @param pointer JSON pointer to the text in the request
 * @throws DomainError `invalid_request`
 */
export function parseLine(text: string, subject: string, pointer: string): string {
  const line = text.trim();
  if (isBlank(line) || CONTROLS_AND_LINE_SEPARATORS.test(line)) {
    throw new DomainError(
      'invalid_request',
      `${subject} is one line that is not blank. Control characters are not accepted.`,
      [{ pointer, message: 'is blank or has control characters' }],
    );
  }
  return line;
}

/**
 * Rejects a blank text, and control characters other than line breaks and tabs.
 * @param subject begins the error message, such as `A message`
 * @param pointer JSON pointer to the text in the request
 * @throws DomainError `invalid_request`
 */
export function assertMultilineText(text: string, subject: string, pointer: string): void {
  if (isBlank(text) || CONTROLS_EXCEPT_LINE_BREAKS_AND_TABS.test(text)) {
    throw new DomainError(
      'invalid_request',
      `${subject} must not be blank. The only control characters accepted are line breaks and tabs.`,
      [{ pointer, message: 'is blank or has control characters' }],
    );
  }
}

export function countCodePoints(text: string): number {
  return Array.from(text).length;
}
