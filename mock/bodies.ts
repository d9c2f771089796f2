import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { PrismRequest } from './prism.ts';

const FORM_TYPE = 'multipart/form-data';

/** Returns the body of a request for Prism. Prism reports malformed JSON as a text. */
export async function readBody(incoming: IncomingMessage): Promise<PrismRequest['body']> {
  const bytes = await buffer(incoming);
  if (bytes.length === 0) return undefined;
  const { 'content-type': type = '' } = incoming.headers;
  if (type.startsWith(FORM_TYPE)) return readForm(bytes, type);
  return { type, content: parseJson(`${bytes}`) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Returns a small form with a file of the same name, because Prism needs quadratic time to parse forms, and fails at
 * malformed ones.
 */
async function readForm(bytes: Buffer<ArrayBuffer>, type: string): Promise<PrismRequest['body']> {
  const response = new Response(bytes, { headers: { 'content-type': type } });
  const form = await response.formData().catch(() => undefined);
  const name = form?.get('avatar') instanceof File ? 'avatar' : 'other';
  return {
    type: `${FORM_TYPE}; boundary=x`,
    content: `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nfile\r\n--x--\r\n`,
  };
}
