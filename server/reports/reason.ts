import { assertMultilineText } from '../text/characters.ts';

/**
 * Rejects a blank reason, and control characters other than line breaks and tabs.
 * @throws DomainError `invalid_request`
 */
export function assertReason(reason: string): void {
  assertMultilineText(reason, 'A reason', '/reason');
}
