import { assertMultilineText } from '../text/characters.ts';

/**
 * Rejects a blank text, and control characters other than line breaks and tabs.
 * @throws DomainError `invalid_request`
 */
export function assertMessageText(text: string): void {
  assertMultilineText(text, 'A message', '/text');
}
