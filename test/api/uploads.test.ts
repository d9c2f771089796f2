import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DomainError } from '../../server/errors.ts';
import { drain } from '../../server/http/draining.ts';
import { multipartOptions, readAvatarUpload } from '../../server/http/uploads.ts';
import { randomNumbers } from '../support/random.ts';

const maxFileBytes = 5_242_880;
const MiB = 1024 * 1024;
const boundary = 'limit-of-a-part';
const formType = `multipart/form-data; boundary=${boundary}`;

let app: FastifyInstance;
let port: number;
/** What became of every request that reached the handler, in order of its end. */
let outcomes: string[];
let sockets: Socket[];

beforeEach(async () => {
  outcomes = [];
  sockets = [];
  app = fastify({ bodyLimit: 1024, forceCloseConnections: false });
  app.register(multipart, multipartOptions);
  app.setErrorHandler((error, _request, reply) => {
    const { code, message, pointers } =
      error instanceof DomainError
        ? error
        : { code: 'internal', message: String(error), pointers: [] };
    outcomes.push(code);
    const status = { internal: 500, avatar_too_large: 413 }[code as string] ?? 400;
    return reply.code(status).send({ code, message, pointers });
  });
  app.put('/picture', async (request, reply) => {
    const bytes = await readAvatarUpload(request, reply);
    outcomes.push('read');
    return { bytes: bytes.length, sha256: sha256(bytes) };
  });
  app.server.on('connection', (socket) => sockets.push(socket));
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});

afterEach(async () => {
  app.server.closeAllConnections();
  await app.close();
});

describe('an upload', () => {
  test('is read byte for byte, whatever its name and declared type', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256));
    const answer = await send(formOf(['avatar', bytes, 'ünïcode "?.svg', 'image/svg+xml']));
    expect(answer).toEqual({ status: 200, bytes: 100_000, sha256: sha256(bytes) });
  });

  test('may hold lines that look almost like the boundary', async () => {
    const bytes = Buffer.from(`\r\n--${boundary.slice(0, -1)}\r\n--\r\n\r\n`.repeat(1000));
    expect(await send(bodyOf(part('name="avatar"; filename="a.jpg"', bytes)))).toMatchObject({
      status: 200,
      sha256: sha256(bytes),
    });
  });

  test('may have 5,242,880 bytes and not one more', async () => {
    expect(await send(formOf(['avatar', Buffer.alloc(maxFileBytes, 1)]))).toMatchObject({
      status: 200,
      bytes: maxFileBytes,
    });
    const refusal = await send(formOf(['avatar', Buffer.alloc(maxFileBytes + 1, 1)]));
    expect(refusal).toMatchObject({ status: 413, code: 'avatar_too_large' });
    expect(refusal.message).toContain('5,242,880 bytes (5 MiB)');
    expect(refusal.pointers).toMatchObject([{ pointer: '/avatar' }]);
  });

  test.each<[string, FormData]>([
    ['no part', formOf()],
    ['another name', formOf(['picture', Buffer.from('x')])],
    ['another name and 4 MiB', formOf(['picture', Buffer.alloc(4 * MiB)])],
    ['a name that differs in case', formOf(['Avatar', Buffer.from('x')])],
    ['an empty file', formOf(['avatar', Buffer.alloc(0)])],
  ])('with %s is refused as avatar_missing', async (_, form) => {
    expect(await send(form)).toMatchObject({
      status: 400,
      code: 'avatar_missing',
      pointers: [{ pointer: '/avatar' }],
    });
  });

  const avatar = ['avatar', Buffer.from('x')] as const;
  const withText = (form: FormData, name: string) => {
    form.append(name, 'text');
    return form;
  };
  test.each<[string, FormData]>([
    ['a second file', formOf(avatar, avatar)],
    ['a second file of 5 MiB', formOf(avatar, ['other', Buffer.alloc(5 * MiB - 1000)])],
    ['a text beside it', withText(formOf(avatar), 'title')],
    ['a text in its place', withText(formOf(), 'avatar')],
    ['__proto__', withText(formOf(), '__proto__')],
    ['a file named toString', formOf(['toString', Buffer.from('x')])],
  ])('with %s is refused', async (_, form) => {
    expect(await send(form)).toMatchObject({ status: 400, code: 'avatar_missing' });
  });

  const whole = bodyOf(part('name="avatar"; filename="a.jpg"', 'picture'));
  test.each<[string, string, string | Buffer]>([
    ['without a boundary in its type', 'multipart/form-data', whole],
    ['with an empty boundary', 'multipart/form-data; boundary=', whole],
    ['with a boundary of 300 characters', `multipart/form-data; boundary=${'b'.repeat(300)}`, ''],
    ['with another boundary than its body', 'multipart/form-data; boundary=other', whole],
    ['of garbage', formType, Buffer.alloc(10_000, 0xa5)],
    ['cut off in the file', formType, whole.subarray(0, whole.indexOf('picture') + 3)],
    ['cut off in the last boundary', formType, whole.subarray(0, -5)],
    ['cut off in the headers of the part', formType, whole.subarray(0, 40)],
    ['cut off behind the first boundary', formType, `--${boundary}\r\n`],
  ])('%s is refused as invalid_request', async (_, type, body) => {
    const answer = await send(body, type);
    expect(answer).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(answer.message).not.toMatch(/unexpected|terminated|busboy|FST/i);
  });

  test('with nothing in it is refused as avatar_missing', async () => {
    expect(await send('')).toMatchObject({ status: 400, code: 'avatar_missing' });
    expect(await send(`--${boundary}--\r\n`)).toMatchObject({
      status: 400,
      code: 'avatar_missing',
    });
  });

  test('is refused or read, and nothing else, in 300 of 300 damaged forms', async () => {
    const random = randomNumbers(1);
    const seen = new Set<unknown>();
    for (let i = 0; i < 300; i++) {
      const bytes = Buffer.from(whole);
      for (let n = random(5); n >= 0; n--) bytes[random(bytes.length)] = random(256);
      const end = random(3) === 0 ? random(bytes.length) : bytes.length;
      const pieces: Buffer[] = [];
      for (let at = 0; at < end; ) {
        const next = Math.min(end, at + 1 + random(60));
        pieces.push(bytes.subarray(at, next));
        at = next;
      }
      const answer = await app.inject({
        method: 'PUT',
        url: '/picture',
        headers: { 'content-type': formType },
        payload: Readable.from(pieces),
      });
      expect([200, 400], answer.body).toContain(answer.statusCode);
      seen.add(answer.json().code);
    }
    expect([...seen].sort()).toEqual(['avatar_missing', 'invalid_request', undefined]);
  });
});

describe('a client', () => {
  test('is told of a request too large before it has sent any of it', async () => {
    const client = await open();
    client.write(head({ 'Content-Length': 60 * MiB }));
    expect(await firstAnswer(client)).toContain('HTTP/1.1 413');
    expect(client.destroyed).toBe(false);
    client.destroy();
  });

  test('that sends 12 MiB in one go gets to read the refusal and may use the connection again', async () => {
    const client = await open();
    const body = bodyOf(part('name="avatar"; filename="a.jpg"', Buffer.alloc(12 * MiB)));
    client.write(head({ 'Content-Length': body.length }));
    client.write(body);
    expect(await firstAnswer(client)).toContain('avatar_too_large');
    const second = bodyOf(part('name="avatar"; filename="a.jpg"', 'picture'));
    client.write(Buffer.concat([Buffer.from(head({ 'Content-Length': second.length })), second]));
    expect(await firstAnswer(client)).toContain('"bytes":7');
    client.destroy();
  });

  test.each([
    ['before the form', ''],
    ['after the form', bodyOf(part('name="avatar"; filename="a.jpg"', 'picture')).toString()],
    ['in the headers of a part', `--${boundary}\r\nX: `],
    ['in a part without a name', `--${boundary}\r\n\r\n`],
    ['in the file', `--${boundary}\r\n${disposition('name="avatar"; filename="a"')}\r\n\r\n`],
    ['in the wrong file', `--${boundary}\r\n${disposition('name="b"; filename="a"')}\r\n\r\n`],
  ])('that sends without end %s gets an answer and is cut off', async (_, beginning) => {
    const client = await open();
    const answer = firstAnswer(client);
    client.write(head({ 'Transfer-Encoding': 'chunked' }));
    if (beginning !== '') client.write(chunk(Buffer.from(beginning)));
    const filler = chunk(Buffer.alloc(256 * 1024, 'x'));
    const closed = new Promise((resolve) => client.once('close', resolve));
    for (let sent = 0; sent < 60 * MiB && !client.destroyed; sent += 256 * 1024) {
      if (!client.write(filler)) {
        await Promise.race([new Promise((resolve) => client.once('drain', resolve)), closed]);
      }
    }
    await closed;
    expect(await answer).toMatch(/^HTTP\/1\.1 (413|400|200) /);
    expect(outcomes).toHaveLength(1);
    // What the reader takes, what is drained, and what one read of a socket may add.
    expect(sockets[0]?.bytesRead).toBeLessThan(maxFileBytes + 17 * MiB);
  });

  test('that goes away in the middle leaves nothing waiting', async () => {
    const client = await open();
    const body = bodyOf(part('name="avatar"; filename="a.jpg"', Buffer.alloc(MiB)));
    client.write(head({ 'Content-Length': body.length }));
    client.write(body.subarray(0, MiB / 2));
    await sleep(50);
    expect(outcomes).toEqual([]);
    client.destroy();
    await until(() => outcomes.length === 1);
    expect(outcomes).toEqual(['invalid_request']);
    await withinOneSecond(app.close());
  });

  test('that was refused keeps the server from closing no longer than it sends', async () => {
    const client = await open();
    const second = part('name="other"; filename="b.jpg"', Buffer.alloc(4 * MiB));
    const body = bodyOf(part('name="avatar"; filename="a.jpg"', 'picture'), second);
    client.write(head({ 'Content-Length': body.length }));
    client.write(body);
    expect(await firstAnswer(client)).toContain('HTTP/1.1 400');
    await until(() => sockets[0]?.bytesRead !== undefined && sockets[0].bytesRead > body.length);
    await withinOneSecond(app.close());
  });
});

describe('draining', () => {
  test('ends after its time when the client has stopped sending', async () => {
    const server = createServer((request: IncomingMessage, response) => {
      response.end('refused');
      drain(request, MiB, 100);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write('PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\npart of it');
    const start = performance.now();
    expect(await text(client)).toContain('refused');
    expect(performance.now() - start).toBeGreaterThan(90);
    await withinOneSecond(new Promise((resolve) => server.close(resolve)));
  });
});

type File = readonly [name: string, bytes: Buffer<ArrayBuffer>, filename?: string, type?: string];

function formOf(...files: File[]): FormData {
  const form = new FormData();
  for (const [name, bytes, filename = 'avatar.jpg', type = 'image/jpeg'] of files) {
    form.append(name, new Blob([bytes], { type }), filename);
  }
  return form;
}

function disposition(parameters: string): string {
  return `Content-Disposition: form-data; ${parameters}`;
}

function part(parameters: string, content: string | Buffer): Buffer {
  const header = `--${boundary}\r\n${disposition(parameters)}\r\nContent-Type: image/jpeg\r\n\r\n`;
  return Buffer.concat([Buffer.from(header), Buffer.from(content), Buffer.from('\r\n')]);
}

function bodyOf(...parts: Buffer[]): Buffer {
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

async function send(body: FormData | string | Buffer, type = formType) {
  const response = await fetch(`http://127.0.0.1:${port}/picture`, {
    method: 'PUT',
    body: Buffer.isBuffer(body) ? new Uint8Array(body) : body,
    ...(body instanceof FormData ? {} : { headers: { 'Content-Type': type } }),
    signal: AbortSignal.timeout(5000),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, ...answer } as Record<string, unknown>;
}

async function open(): Promise<Socket> {
  const client = connect(port, '127.0.0.1');
  // A connection cut off while sending is reset; the tests look at what was answered before.
  client.on('error', () => {});
  await new Promise((resolve) => client.once('connect', resolve));
  return client;
}

function head(headers: Record<string, string | number>): string {
  const lines = Object.entries({ Host: 'localhost', 'Content-Type': formType, ...headers });
  return `PUT /picture HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n`;
}

function chunk(data: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]);
}

function firstAnswer(client: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    client.once('data', (data: Buffer) => resolve(data.toString()));
    client.once('close', () => reject(new Error('closed without an answer')));
  });
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !condition(); i++) await sleep(10);
  expect(condition()).toBe(true);
}

async function withinOneSecond(task: Promise<unknown>): Promise<void> {
  const late = Symbol('late');
  expect(await Promise.race([task, sleep(1000, late)])).not.toBe(late);
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
