import type { IncomingHttpHeaders } from 'node:http';
import { finished } from 'node:stream/promises';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Operation } from '../contract.ts';
import { isTooDeep } from '../text/json-depth.ts';
import { findUnstorable } from '../text/storable.ts';
import { MAX_DRAINED_BYTES } from './draining.ts';
import { HttpProblem, nestedTooDeeply, unstorableText } from './problems.ts';
import { REJECTION_DELAY_MS } from './rate-limits.ts';
import { resumeTurn } from './turns.ts';
import { MULTIPART_OPTIONS } from './uploads.ts';

/** Fits the longest texts that the contract allows, even with every character escaped as `\uXXXX`. */
export const MAX_BODY_BYTES = 32_768;

/** Parses JSON and multipart bodies. Reads and discards other bodies. */
export async function parseBodies(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers();
  await app.register(multipart, MULTIPART_OPTIONS);
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done) =>
      resumeTurn(request, () => {
        // First, because deep values take long to parse and to check.
        if (isTooDeep(body)) {
          setTimeout(done, REJECTION_DELAY_MS, nestedTooDeeply());
          return;
        }
        try {
          done(null, parseJson(app, request, body));
        } catch (error) {
          done(error as Error);
        }
      }),
  );
  // Ignores bodies sent to operations without a request body. `checkBody` rejects other types for all other operations.
  app.addContentTypeParser('*', async ({ raw }: FastifyRequest) => {
    let remainingBytes = MAX_DRAINED_BYTES;
    raw.on('data', (chunk: Buffer) => {
      remainingBytes -= chunk.length;
      if (remainingBytes < 0) raw.destroy();
    });
    // Waits for the end, because a request with a malformed body gets 400, so it must not take effect.
    await finished(raw).catch(() => {
      throw new HttpProblem('invalid_request', 'The request body is malformed or incomplete.');
    });
  });
}

/**
 * Returns the hook that rejects requests without a required body, or with a body of an unsupported type or size.
 *
 * It runs before the body is read. Without it, Fastify would call the handler without validation if the body is missing
 * or has an unsupported type.
 */
export function checkBody(operation: Operation): onRequestHookHandler {
  return ({ raw: { headers } }, _reply, done) => {
    // Some clients send a Content-Type without a body, or a body with DELETE. Fastify would try to parse it.
    if (operation.bodyType === null || !hasBody(headers)) delete headers['content-type'];
    done(findBodyProblem(headers, operation));
  };
}

/** Returns the error of a request whose body is missing, has an unsupported type or is too large. */
function findBodyProblem(
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
function hasBody(headers: IncomingHttpHeaders): boolean {
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
    pointers: [{ pointer: '', code: 'missing', message: 'is missing' }],
  });
}

function parseJson(app: FastifyInstance, request: FastifyRequest, body: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new HttpProblem('invalid_request', 'The request body is not valid UTF-8.');
  }
  let parsed: unknown;
  // Rejects keys that could pollute prototypes. The callback runs synchronously.
  app.getDefaultJsonParser('error', 'error')(request, text, (error, value) => {
    if (error) {
      throw new HttpProblem(
        'invalid_request',
        isJson(text)
          ? 'The request body must not contain keys named __proto__ or constructor.'
          : 'The request body is not valid JSON.',
      );
    }
    parsed = value;
  });
  // Clients of OpenAPI Generator for Go, Java and Rust send `null` for an omitted body.
  if (parsed === null && !request.routeOptions.config.operation?.isBodyRequired) return {};
  const pointer = findUnstorable(parsed);
  if (pointer !== undefined) throw unstorableText(pointer);
  return parsed;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
