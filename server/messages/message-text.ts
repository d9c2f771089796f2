import { DomainError } from '../errors.ts';
import { CONTROLS_EXCEPT_LINE_BREAKS_AND_TABS, isBlank } from '../text/characters.ts';

/**
 * Rejects a blank text, and control characters other than line breaks and tabs.
 * @throws DomainError `invalid_request`
 */
export function assertMessageText(text: string): void {
  if (isBlank(text) || CONTROLS_EXCEPT_LINE_BREAKS_AND_TABS.test(text)) {
    throw new DomainError(
      'invalid_request',
      'A message must not be blank. The only control characters accepted are line breaks and tabs.',
      [{ pointer: '/text', message: 'is blank or has control characters' }],
    );
  }
}
