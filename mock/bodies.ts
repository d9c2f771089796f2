import type { IncomingMessage } from 'node:http';
import { stripMetadata } from '../server/avatars/metadata.ts';
import { bodyTooLarge, MAX_BODY_BYTES } from '../server/http/body-headers.ts';
import { HttpProblem, nestedTooDeeply, unstorableText } from '../server/http/problems.ts';
import { MAX_AVATAR_BYTES, MAX_UPLOAD_BYTES, malformedForm } from '../server/http/uploads.ts';
import { isTooDeep } from '../server/text/json-depth.ts';
import { findUnstorable } from '../server/text/storable.ts';
import type { Selection } from './prism.ts';

// Parsed here, because Prism never responds to malformed JSON and needs quadratic time for multipart bodies.

/** @throws HttpProblem `body_too_large`, `invalid_request` */
export async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(incoming, MAX_BODY_BYTES);
  if (bytes === undefined) throw bodyTooLarge();
  if (isTooDeep(bytes)) throw nestedTooDeeply();
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new HttpProblem('invalid_request', 'The request body is not valid JSON in UTF-8.');
  }
  const pointer = findUnstorable(value);
  if (pointer !== undefined) throw unstorableText(pointer);
  return value;
}

/**
 * Returns which example responds to an upload. Does not decode the avatar.
 * @throws DomainError `invalid_request` if the form is malformed
 */
export async function selectUploadResponse(incoming: IncomingMessage): Promise<Selection> {
  const bytes = await readBody(incoming, MAX_UPLOAD_BYTES);
  if (bytes === undefined) return { code: 413 };
  const parts = await parseForm(bytes, incoming.headers['content-type'] ?? '');
  const [[name, file] = []] = parts;
  if (parts.length !== 1 || name !== 'avatar') return { code: 400 };
  // A part without a file name is decoded as text. These characters show that it was binary.
  if (typeof file === 'string') return { code: /[\0\uFFFD]/.test(file) ? 200 : 400 };
  if (file === undefined || file.size === 0) return { code: 400 };
  if (file.size > MAX_AVATAR_BYTES) return { code: 413 };
  return { code: stripMetadata(await file.bytes()) === undefined ? 415 : 200 };
}

async function parseForm(bytes: Uint8Array<ArrayBuffer>, type: string) {
  try {
    const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
    return [...form];
  } catch {
    throw malformedForm();
  }
}

/** Returns undefined if the body is too large. The rest of it is not read. */
async function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  if (Number(incoming.headers['content-length']) > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  // By default, the end of the loop would close the connection before the response.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
