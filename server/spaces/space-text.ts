import { DomainError } from '../errors.ts';
import {
  CONTROLS_AND_LINE_SEPARATORS,
  CONTROLS_EXCEPT_LINE_FEED,
  isBlank,
} from '../text/characters.ts';

/**
 * Returns a title without surrounding white space.
 * @throws DomainError `invalid_request`
 */
export function parseTitle(text: string): string {
  const title = text.trim();
  if (isBlank(title) || CONTROLS_AND_LINE_SEPARATORS.test(title)) {
    throw new DomainError(
      'invalid_request',
      'A title is one line that is not blank. Control characters are not accepted.',
      [{ pointer: '/title', message: 'is blank or has control characters' }],
    );
  }
  return title;
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
