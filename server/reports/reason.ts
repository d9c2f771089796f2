import { DomainError } from '../errors.ts';
import { CONTROLS_EXCEPT_LINE_BREAKS_AND_TABS, isBlank } from '../text/characters.ts';

/**
 * Rejects a blank reason, and control characters other than line breaks and tabs.
 * @throws DomainError `invalid_request`
 */
export function assertReason(reason: string): void {
  if (isBlank(reason) || CONTROLS_EXCEPT_LINE_BREAKS_AND_TABS.test(reason)) {
    throw new DomainError(
      'invalid_request',
      'A reason must not be blank. The only control characters accepted are line breaks and tabs.',
      [{ pointer: '/reason', message: 'is blank or has control characters' }],
    );
  }
}
