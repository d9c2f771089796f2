import { connect, type Socket } from 'node:net';
import { validateExchange } from './contract.ts';

/** A response as received over the connection. */
export interface RawResponse {
  status: number;
  headers: Headers;
  body: string;
}

/** A connection that sends bytes unchanged. */
export interface RawConnection extends Disposable {
  socket: Socket;
  /** Sends bytes. Resolves when the socket has drained or the connection has closed. */
  write(bytes: string | Buffer): Promise<void>;
  /**
   * Reads the next response, whose body must have a `Content-Length`. Resolves to undefined if the connection closes
   * without one.
   */
  readResponse(): Promise<RawResponse | undefined>;
  /** Resolves when the connection has closed. */
  closed: Promise<void>;
}

/** Opens a connection. If the server refuses it, the returned connection has closed. */
export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // The server may reset the connection while this side is still sending. Keep the bytes received so far.
  socket.on('error', () => {});
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), closed]);

  let received = Buffer.alloc(0);
  let notifyReader = () => {};
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    notifyReader();
  });

  return {
    socket,
    closed,
    async write(bytes) {
      if (socket.destroyed || socket.write(bytes)) return;
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    },
    async readResponse() {
      for (;;) {
        const found = parseResponse(received);
        if (found) {
          received = received.subarray(found.length);
          return found.response;
        }
        if (socket.destroyed) return undefined;
        await Promise.race([new Promise<void>((resolve) => (notifyReader = resolve)), closed]);
      }
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** Sends one request and returns its response. */
export async function sendRaw(url: string, bytes: string): Promise<RawResponse | undefined> {
  using connection = await openRaw(url);
  await connection.write(bytes);
  return await connection.readResponse();
}

/** Returns the request line and headers of an HTTP request. `headers` may replace the default Host. */
export function head(method: string, path: string, headers: Record<string, string | number> = {}) {
  const lines = Object.entries({ Host: 'localhost', ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n`;
}

/**
 * Validates the response to a rejected request against the contract, and returns it.
 * @throws Error that describes the violation or the missing response
 */
export function validateRaw(
  method: string,
  url: string,
  response: RawResponse | undefined,
): RawResponse {
  if (!response) throw new Error(`${method} ${url} got no response.`);
  validateExchange({ method, url, ...response });
  return response;
}

/** Returns the first complete response and its length, or undefined if more bytes are needed. */
function parseResponse(bytes: Buffer): { response: RawResponse; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Headers();
  for (const field of fields) {
    const colon = field.indexOf(':');
    headers.append(field.slice(0, colon), field.slice(colon + 1).trim());
  }
  const length = end + 4 + Number(headers.get('content-length') ?? 0);
  if (bytes.length < length) return undefined;
  const body = bytes.subarray(end + 4, length).toString();
  return { response: { status: Number(line.split(' ')[1]), headers, body }, length };
}
