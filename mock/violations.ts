import type { Pointer } from '../server/errors.ts';
import { type HttpProblem, invalidValues } from '../server/http/problems.ts';
import { escapePointer } from '../server/text/storable.ts';
import type { Violation } from './prism.ts';

/**
 * Converts violations that Prism found to a problem like that of the server.
 * @param query the query of the request
 */
export function explainViolations(
  violations: readonly Violation[],
  query: URLSearchParams,
): HttpProblem {
  const pointers = violations.map(explainViolation);
  // The server does not check the pattern of a cursor. It rejects a text that it cannot decrypt with `invalid_cursor`.
  // Empty and repeated cursors break other rules of the schema.
  const isUndecryptable =
    pointers.every(({ pointer }) => pointer === '?cursor') &&
    violations.every(({ code }) => code === 'pattern') &&
    query.get('cursor') !== '';
  return invalidValues(pointers, isUndecryptable ? 'invalid_cursor' : 'invalid_request');
}

function explainViolation({ path: [part, ...steps] = [], code, message }: Violation): Pointer {
  // Prism states the name of a missing or unknown property only in the message.
  const name = /'([^']*)'$/.exec(message)?.[1];
  switch (code) {
    case 'required':
      return {
        pointer: pointerTo(part, name === undefined ? steps : [...steps, name]),
        message: 'is missing',
      };
    case 'additionalProperties':
      return { pointer: pointerTo(part, [...steps, name ?? '']), message: 'is not a known field' };
    case 'pattern':
      return { pointer: pointerTo(part, steps), message: 'does not match its pattern' };
    default:
      return {
        pointer: pointerTo(part, steps),
        message: /\bmust .*$/.exec(message)?.[0] ?? 'is invalid',
      };
  }
}

/** Returns the location of an error in the notation of the contract. */
function pointerTo(part: string | undefined, steps: string[]): string {
  if (part === 'query') return `?${steps.join('/')}`;
  if (part === 'path') return `{${steps.join('/')}}`;
  return steps.map((step) => `/${escapePointer(step)}`).join('');
}
