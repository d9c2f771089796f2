import {
  CONTROLS_EXCEPT_LINE_FEED,
  parseLine,
  rejectControls,
  rejectDirectionControls,
} from '../text/characters.ts';

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
  const [subject, pointer] = ['A description', '/description'];
  const controls = CONTROLS_EXCEPT_LINE_FEED;
  rejectControls(description, controls, subject, pointer, ' other than line breaks');
  rejectDirectionControls(description, subject, pointer);
  return description;
}
