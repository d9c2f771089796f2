import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Operation } from '../contract.ts';
import { isTooDeep } from '../text/json-depth.ts';
import { findUnstorable } from '../text/storable.ts';
import { findBodyProblem, hasBody } from './body-headers.ts';
import { MAX_DRAINED_BYTES } from './draining.ts';
import { HttpProblem, nestedTooDeeply, unstorableText } from './problems.ts';
import { REJECTION_DELAY_MS } from './rate-limits.ts';
import { MULTIPART_OPTIONS } from './uploads.ts';

/** Parses JSON and multipart bodies. Reads and discards other bodies. */
export async function parseBodies(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers();
  await app.register(multipart, MULTIPART_OPTIONS);
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      // First, because deep values take long to parse and to check.
      if (isTooDeep(body)) {
        await sleep(REJECTION_DELAY_MS);
        throw nestedTooDeeply();
      }
      return parseJson(app, request, body);
    },
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
