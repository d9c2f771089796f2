import { assertMultilineText } from '../text/characters.ts';

/** @throws DomainError `invalid_request` */
export function assertReason(reason: string): void {
  assertMultilineText(reason, 'A reason', '/reason');
}
