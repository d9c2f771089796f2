import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '../contract.ts';
import { HttpProblem } from './problems.ts';

// Without imports of Fastify, because the mock server checks headers in the same way.

/** Fits the longest texts that the contract allows, even with every character escaped as `\uXXXX`. */
export const MAX_BODY_BYTES = 32_768;

/** Returns the error of a request whose body is missing, has an unsupported type or is too large. */
export function findBodyProblem(
  headers: IncomingHttpHeaders,
  { bodyType, isBodyRequired }: Operation,
): HttpProblem | undefined {
  if (bodyType === null) return undefined;
  if (!hasBody(headers)) return isBodyRequired ? bodyMissing(bodyType) : undefined;
  const isAccepted =
    isContentType(headers['content-type'], bodyType) && headers['content-encoding'] === undefined;
  if (!isAccepted) {
    const detail = `Send the body as ${bodyType}, uncompressed.`;
    return new HttpProblem('unsupported_media_type', detail);
  }
  const isTooLarge = Number(headers['content-length']) > MAX_BODY_BYTES;
  return bodyType === 'application/json' && isTooLarge ? bodyTooLarge() : undefined;
}

/** Whether the headers announce a body. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Whether a Content-Type header has the expected type, without a charset or with UTF-8. */
function isContentType(header: string | undefined, expected: string): boolean {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';');
  if (type.trim() !== expected) return false;
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith('charset='));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset);
}

export function bodyTooLarge(): HttpProblem {
  const limit = MAX_BODY_BYTES.toLocaleString('en');
  return new HttpProblem('body_too_large', `The request body is larger than ${limit} bytes.`);
}

function bodyMissing(type: string): HttpProblem {
  return new HttpProblem('invalid_request', `This operation requires a body of type ${type}.`, {
    pointers: [{ pointer: '', message: 'is missing' }],
  });
}
