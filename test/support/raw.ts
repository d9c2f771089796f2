import { connect, type Socket } from 'node:net';
import { validateExchange } from './contract.ts';

/** An answer as it came over the wire. */
export interface RawAnswer {
  status: number;
  headers: Headers;
  body: string;
}

/** A connection that sends bytes as they are given. Close it with `using`. */
export interface RawConnection extends Disposable {
  socket: Socket;
  /** Sends bytes. Resolves once more may be sent, or the connection has ended. */
  write(bytes: string | Buffer): Promise<void>;
  /** The next answer; undefined where the connection ended without one. */
  answer(): Promise<RawAnswer | undefined>;
  ended: Promise<void>;
}

export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // A connection that is cut off while sending is reset. What came before counts.
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));

  let received = Buffer.alloc(0);
  let arrived = () => {};
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    arrived();
  });

  return {
    socket,
    ended,
    async write(bytes) {
      if (socket.destroyed || socket.write(bytes)) return;
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), ended]);
    },
    async answer() {
      for (;;) {
        const found = firstAnswer(received);
        if (found) {
          received = received.subarray(found.length);
          return found.answer;
        }
        if (socket.destroyed) return undefined;
        await Promise.race([new Promise<void>((resolve) => (arrived = resolve)), ended]);
      }
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** Sends one request and resolves to its answer. */
export async function sendRaw(url: string, bytes: string): Promise<RawAnswer | undefined> {
  using connection = await openRaw(url);
  await connection.write(bytes);
  return await connection.answer();
}

/** The head of an HTTP request for `path`, with a Host unless `headers` have one. */
export function head(method: string, path: string, headers: Record<string, string | number> = {}) {
  const lines = Object.entries({ Host: 'localhost', ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n`;
}

/** Holds a raw answer against the contract. The request was refused, so its body does not matter. */
export function validateRaw(method: string, url: string, answer: RawAnswer | undefined): RawAnswer {
  if (!answer) throw new Error(`${method} ${url} got no answer.`);
  validateExchange({ method, url, ...answer });
  return answer;
}

function firstAnswer(bytes: Buffer): { answer: RawAnswer; length: number } | undefined {
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
  return { answer: { status: Number(line.split(' ')[1]), headers, body }, length };
}
