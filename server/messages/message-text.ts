import { assertMultilineText } from '../text/characters.ts';

/** @throws DomainError `invalid_request` */
export function assertMessageText(text: string): void {
  assertMultilineText(text, 'A message', '/text');
}
