import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { Position } from '../pagination.ts';
import { HttpProblem } from './problems.ts';

/** Positions of older versions are rejected, because their parts have other meanings. */
const VERSION = 1;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Turns a position into an opaque text for clients to send back. It is encrypted, because positions contain internal
 * keys, and authenticated for its list, so that a position always means what the server meant by it. Equal positions
 * give equal cursors in all processes.
 * @param key  32 bytes that stay secret
 * @param list what the cursor is bound to: the operation and all parameters that choose and order its items
 */
export function sealCursor(key: Uint8Array, list: string, position: Position): string {
  const text = JSON.stringify(position);
  const context = contextOf(list);
  // Derived from all that is encrypted, so that no two texts share an IV, which GCM must never allow.
  const iv = createHmac('sha256', key).update(context).update(text).digest().subarray(0, IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(context);
  const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
}

/**
 * Returns the position in a cursor that `sealCursor` made with the same key and for the same list.
 * @throws HttpProblem `invalid_cursor`
 */
export function openCursor(key: Uint8Array, list: string, cursor: string): Position {
  const bytes = Buffer.from(cursor, 'base64url');
  // The decoder skips what is not base64url, and a cursor has one spelling only.
  if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) {
    throw invalidCursor();
  }
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
    .setAAD(contextOf(list))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
  try {
    return JSON.parse(Buffer.concat([text, decipher.final()]).toString());
  } catch (cause) {
    throw Object.assign(invalidCursor(), { cause });
  }
}

function contextOf(list: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, list]));
}

function invalidCursor(): HttpProblem {
  return new HttpProblem(
    'invalid_cursor',
    'The cursor does not belong to this list. Follow the Link header of the previous page, or repeat its request with nothing changed but cursor and limit.',
    { pointers: [{ pointer: '?cursor', message: 'is not a cursor of this list' }] },
  );
}
