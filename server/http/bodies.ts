import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Operation } from '../contract.ts';
import { findUnstorable } from '../text/storable.ts';
import { HttpProblem } from './problems.ts';
import { multipartOptions } from './uploads.ts';

/** The most that a JSON body may have, in bytes: no less than the longest texts take with each character escaped. */
export const BODY_LIMIT = 32_768;

/** Has bodies read as the contract describes them, and no others. */
export async function readBodies(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers();
  await app.register(multipart, multipartOptions);
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => parseJson(app, request, body),
  );
  // What an operation does not ask for is not looked at.
  app.addContentTypeParser(['*', 'application/problem+json'], async () => undefined);
}

/**
 * Refuses a body of another type than the operation's, or a missing one, before it is read: Fastify would validate
 * neither.
 */
export function checkBody({ bodyType, isBodyRequired }: Operation): onRequestHookHandler {
  return (request, _reply, done) => {
    const {
      'content-type': type,
      'content-length': length,
      'transfer-encoding': encoding,
    } = request.headers;
    const hasBody = encoding !== undefined || (length !== undefined && length !== '0');
    if (bodyType === null) {
      // Some clients label even empty bodies, and some send one with DELETE.
      delete request.raw.headers['content-type'];
      return done();
    }
    if (!hasBody) {
      delete request.raw.headers['content-type'];
      return isBodyRequired ? done(bodyMissing(bodyType)) : done();
    }
    if (!isOfType(bodyType, type) || request.headers['content-encoding'] !== undefined) {
      return done(
        new HttpProblem('unsupported_media_type', `Send the body as ${bodyType}, uncompressed.`),
      );
    }
    if (bodyType === 'application/json' && Number(length) > BODY_LIMIT) return done(bodyTooLarge());
    done();
  };
}

/** Whether a Content-Type is the wanted one. JSON is UTF-8, so no other charset will do. */
function isOfType(wanted: string, header: string | undefined): boolean {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';');
  if (type.trim() !== wanted) return false;
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith('charset='));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset);
}

function parseJson(app: FastifyInstance, request: FastifyRequest, body: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new HttpProblem('invalid_request', 'The body is not valid UTF-8.');
  }
  let parsed: unknown;
  app.getDefaultJsonParser('error', 'error')(request, text, (error, value) => {
    if (error) {
      throw new HttpProblem(
        'invalid_request',
        isJson(text)
          ? 'No key of the body may be named __proto__ or constructor.'
          : 'The body is not valid JSON.',
      );
    }
    parsed = value;
  });
  const unstorable = findUnstorable(parsed);
  if (unstorable !== undefined) {
    throw new HttpProblem('invalid_request', 'Text must be valid Unicode without NUL characters.', {
      pointers: [
        { pointer: unstorable, message: 'holds a NUL character or an unpaired surrogate' },
      ],
    });
  }
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

export function bodyTooLarge(): HttpProblem {
  return new HttpProblem('body_too_large', 'The body may have at most 32,768 bytes.');
}

function bodyMissing(type: string): HttpProblem {
  return new HttpProblem('invalid_request', `This operation needs a body of type ${type}.`, {
    pointers: [{ pointer: '', message: 'is missing' }],
  });
}
