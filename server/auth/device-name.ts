import { parseLine } from '../text/characters.ts';

/**
 * Returns the name of a device without surrounding white space; null if there is none.
 * @throws DomainError `invalid_request`
 */
export function parseDeviceName(text: string | null | undefined): string | null {
  return text == null ? null : parseLine(text, 'The name of a device', '/device_name');
}
