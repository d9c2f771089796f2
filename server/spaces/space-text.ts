import { DomainError } from '../errors.ts';
import { CONTROLS_EXCEPT_LINE_FEED, parseLine } from '../text/characters.ts';

/**
 * Returns a title without surrounding white space.
 * @throws DomainError `invalid_request`
 */
export function parseTitle(text: string): string {
  return parseLine(text, 'A title', '/title');
}

/**
 * Returns a description with normalised line breaks and without surrounding white space.
 * @throws DomainError `invalid_request`
 */
export function parseDescription(text: string): string {
  const description = text.replace(/\r\n?/gu, '\n').trim();
  if (CONTROLS_EXCEPT_LINE_FEED.test(description)) {
    throw new DomainError(
      'invalid_request',
      'The description contains control characters. The only ones accepted are line breaks.',
      [{ pointer: '/description', message: 'has control characters' }],
    );
  }
  return description;
}
