import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Position } from '../pagination.ts';
import { HttpProblem } from './problems.ts';

/** Increase it when the meaning of a position changes. Cursors of older versions are then rejected. */
const VERSION = 8;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const AUTH_TAG_BYTES = 16;
/** Content is padded, because the length of a cursor would otherwise reveal the number of digits of internal keys. */
const CONTENT_BLOCK_BYTES = 128;
/**
 * Longer positions are compressed: the position of a search with many similar words would otherwise be too long for a
 * URL. Shorter ones are not, because compression takes longer than all other steps of sealing a cursor.
 */
const MAX_UNCOMPRESSED_BYTES = 255;
/** The first byte of the content. */
const UNCOMPRESSED = 0;
const COMPRESSED = 1;

/**
 * Encrypts a position as an opaque cursor for clients. Positions contain internal keys, which clients must not see.
 *
 * The cursor is authenticated and bound to its list, so clients can neither change it nor use it for another list.
 * Equal positions have equal cursors in all processes.
 * @param key  secret, 32 bytes; as a KeyObject, because Node.js would otherwise create one for each use
 * @param list identifies the list: the operation and all parameters that select and order its items
 */
export function sealCursor(key: KeyObject, list: string, position: Position): string {
  const content = encode(position);
  const aad = associatedData(list);
  // Derived from the plaintext and the associated data, because GCM is insecure if two plaintexts share an IV.
  const iv = createHmac('sha256', key).update(aad).update(content).digest().subarray(0, IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(aad);
  const sealed = Buffer.concat([iv, cipher.update(content), cipher.final()]);
  return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
}

/**
 * Returns the position in a cursor that `sealCursor` returned for the same key and list.
 * @param parameter the query parameter with the cursor
 * @throws HttpProblem `invalid_cursor`
 */
export function openCursor(
  key: KeyObject,
  list: string,
  cursor: string,
  parameter = 'cursor',
): Position {
  const bytes = Buffer.from(cursor, 'base64url');
  // The comparison rejects other spellings of a cursor: the decoder ignores characters that are not base64url.
  if (bytes.length <= IV_BYTES + AUTH_TAG_BYTES || bytes.toString('base64url') !== cursor) {
    throw invalidCursor(parameter);
  }
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
    .setAAD(associatedData(list))
    .setAuthTag(bytes.subarray(-AUTH_TAG_BYTES));
  const content = decipher.update(bytes.subarray(IV_BYTES, -AUTH_TAG_BYTES));
  try {
    return decode(Buffer.concat([content, decipher.final()]));
  } catch (cause) {
    throw Object.assign(invalidCursor(parameter), { cause });
  }
}

function encode(position: Position): Buffer {
  const json = Buffer.from(JSON.stringify(position));
  const isLong = json.length > MAX_UNCOMPRESSED_BYTES;
  const data = isLong ? deflateRawSync(json) : json;
  const blocks = Math.ceil((1 + data.length) / CONTENT_BLOCK_BYTES);
  // Neither JSON.parse nor inflateRawSync minds spaces after the data.
  const content = Buffer.alloc(blocks * CONTENT_BLOCK_BYTES, ' ');
  content[0] = isLong ? COMPRESSED : UNCOMPRESSED;
  content.set(data, 1);
  return content;
}

function decode(content: Buffer): Position {
  const data = content.subarray(1);
  return JSON.parse((content[0] === COMPRESSED ? inflateRawSync(data) : data).toString());
}

/** Returns the data that a cursor authenticates but does not contain. */
function associatedData(list: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, list]));
}

function invalidCursor(parameter: string): HttpProblem {
  const detail =
    parameter === 'cursor'
      ? 'The cursor does not belong to this list. Follow the Link header of the previous page, or repeat its request with only cursor and limit changed.'
      : `The value of ${parameter} does not belong to this list. Pass the newer_cursor of one of its pages.`;
  return new HttpProblem('invalid_cursor', detail, {
    pointers: [{ in: 'query', pointer: parameter, message: 'is not a cursor of this list' }],
  });
}
