import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DomainError } from '../../server/errors.ts';
import { drain } from '../../server/http/draining.ts';
import { MULTIPART_OPTIONS, withAvatarUpload } from '../../server/http/uploads.ts';
import { startHttpServer } from '../support/http-server.ts';
import { randomIntegers } from '../support/random.ts';
import { head, openRaw } from '../support/raw.ts';

const MAX_AVATAR_BYTES = 5_242_880;
const MEBIBYTE = 1024 * 1024;
const BOUNDARY = 'boundary-of-a-part';
const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

let app: FastifyInstance;
let url: string;
/** `read` or the error code of each request that reached the handler, in the order of completion. */
let outcomes: string[];
let sockets: Socket[];
/** By the handler of `/avatar`. */
let receivedBytes: number;
/** Uploads that have been read wait for it. */
let isProcessing: Promise<void>;

beforeEach(async () => {
  outcomes = [];
  sockets = [];
  app = fastify({ bodyLimit: 1024, forceCloseConnections: false });
  app.register(multipart, MULTIPART_OPTIONS);
  app.setErrorHandler((error, _request, reply) => {
    const { code, message, pointers } =
      error instanceof DomainError
        ? error
        : { code: 'internal', message: String(error), pointers: [] };
    outcomes.push(code);
    const status = { internal: 500, avatar_too_large: 413 }[code as string] ?? 400;
    return reply.code(status).send({ code, message, pointers });
  });
  receivedBytes = 0;
  isProcessing = Promise.resolve();
  app.put('/avatar', async (request) => {
    const upload = withAvatarUpload(request, async (avatar) => {
      outcomes.push('read');
      await isProcessing;
      return avatar;
    });
    request.raw.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
    });
    const bytes = await upload;
    return { bytes: bytes.length, sha256: sha256(bytes) };
  });
  app.put('/late', async (request) => {
    await finished(request.raw).catch(() => {});
    await withAvatarUpload(request, async () => {});
  });
  app.server.on('connection', (socket) => sockets.push(socket));
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  app.server.closeAllConnections();
  await app.close();
});

describe('withAvatarUpload', () => {
  test('returns the bytes unchanged and ignores file name and declared type', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256));
    const response = await send(createForm(['avatar', bytes, 'ünïcode "?.svg', 'image/svg+xml']));
    expect(response).toEqual({ status: 200, bytes: 100_000, sha256: sha256(bytes) });
  });

  test.each([
    ['a file name', 'Content-Type: image/png\r\n'],
    ['a file name and a type', ''],
    ['a file name, of type text/plain', 'Content-Type: text/plain\r\n'],
  ])('accepts a file without %s', async (_, type) => {
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const header = `--${BOUNDARY}\r\n${disposition('name="avatar"')}\r\n${type}\r\n`;
    const part = Buffer.concat([Buffer.from(header), bytes, Buffer.from('\r\n')]);
    expect(await send(createBody(part))).toMatchObject({ status: 200, sha256: sha256(bytes) });
  });

  test('accepts content that resembles the boundary', async () => {
    const bytes = Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n--\r\n\r\n`.repeat(1000));
    expect(
      await send(createBody(createPart('name="avatar"; filename="a.jpg"', bytes))),
    ).toMatchObject({
      status: 200,
      sha256: sha256(bytes),
    });
  });

  test('accepts 5,242,880 bytes and rejects one more', async () => {
    expect(await send(createForm(['avatar', Buffer.alloc(MAX_AVATAR_BYTES, 1)]))).toMatchObject({
      status: 200,
      bytes: MAX_AVATAR_BYTES,
    });
    const rejection = await send(createForm(['avatar', Buffer.alloc(MAX_AVATAR_BYTES + 1, 1)]));
    expect(rejection).toMatchObject({ status: 413, code: 'avatar_too_large' });
    expect(rejection.message).toContain('5,242,880 bytes (5 MiB)');
    expect(rejection.pointers).toMatchObject([{ pointer: '/avatar' }]);
  });

  test.each<[string, FormData]>([
    ['no parts', createForm()],
    ['another field name', createForm(['picture', Buffer.from('x')])],
    ['another field name and 4 MiB', createForm(['picture', Buffer.alloc(4 * MEBIBYTE)])],
    ['a field name in another case', createForm(['Avatar', Buffer.from('x')])],
    ['an empty file', createForm(['avatar', Buffer.alloc(0)])],
  ])('rejects a form with %s as avatar_missing', async (_, form) => {
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
    ['a second file', createForm(avatar, avatar)],
    ['a second file of 5 MiB', createForm(avatar, ['other', Buffer.alloc(5 * MEBIBYTE - 1000)])],
    ['an additional text', withText(createForm(avatar), 'title')],
    ['text instead of a file', withText(createForm(), 'avatar')],
    ['a text named __proto__', withText(createForm(), '__proto__')],
    ['a file named toString', createForm(['toString', Buffer.from('x')])],
  ])('rejects a form with %s', async (_, form) => {
    expect(await send(form)).toMatchObject({ status: 400, code: 'avatar_missing' });
  });

  const validBody = createBody(createPart('name="avatar"; filename="a.jpg"', 'content'));
  test.each<[string, string, string | Buffer]>([
    ['without a boundary in its content type', 'multipart/form-data', validBody],
    ['with an empty boundary', 'multipart/form-data; boundary=', validBody],
    ['with a boundary of 300 characters', `multipart/form-data; boundary=${'b'.repeat(300)}`, ''],
    [
      'with a boundary that differs from its content type',
      'multipart/form-data; boundary=other',
      validBody,
    ],
    ['that is garbage', FORM_TYPE, Buffer.alloc(10_000, 0xa5)],
    ['truncated in the file', FORM_TYPE, validBody.subarray(0, validBody.indexOf('content') + 3)],
    ['truncated in the last boundary', FORM_TYPE, validBody.subarray(0, -5)],
    ['truncated in the headers of the part', FORM_TYPE, validBody.subarray(0, 40)],
    ['truncated after the first boundary', FORM_TYPE, `--${BOUNDARY}\r\n`],
  ])('rejects a form %s as invalid_request', async (_, type, body) => {
    const response = await send(body, type);
    expect(response).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(response.message).not.toMatch(/unexpected|terminated|busboy|FST/i);
  });

  test('rejects an empty form as avatar_missing', async () => {
    expect(await send('')).toMatchObject({ status: 400, code: 'avatar_missing' });
    expect(await send(`--${BOUNDARY}--\r\n`)).toMatchObject({
      status: 400,
      code: 'avatar_missing',
    });
  });

  test('reads or rejects each of 300 damaged forms without an internal error', async () => {
    const random = randomIntegers(1);
    const codes = new Set<unknown>();
    for (let i = 0; i < 300; i++) {
      const bytes = Buffer.from(validBody);
      const damagedBytes = 1 + random(5);
      for (let j = 0; j < damagedBytes; j++) bytes[random(bytes.length)] = random(256);
      const end = random(3) === 0 ? random(bytes.length) : bytes.length;
      const chunks: Buffer[] = [];
      for (let at = 0; at < end; ) {
        const next = Math.min(end, at + 1 + random(60));
        chunks.push(bytes.subarray(at, next));
        at = next;
      }
      const response = await app.inject({
        method: 'PUT',
        url: '/avatar',
        headers: { 'content-type': FORM_TYPE },
        payload: Readable.from(chunks),
      });
      expect([200, 400], response.body).toContain(response.statusCode);
      codes.add(response.json().code);
    }
    expect([...codes].sort()).toEqual(['avatar_missing', 'invalid_request', undefined]);
  });
});

describe('a connection', () => {
  test('receives 413 before it sends the body if Content-Length is too large', async () => {
    using client = await openRaw(url);
    await client.write(createHead({ 'Content-Length': 60 * MEBIBYTE }));
    expect((await client.readResponse())?.status).toBe(413);
    expect(client.socket.destroyed).toBe(false);
  });

  test('receives the rejection of a 12 MiB body and stays open for another request', async () => {
    using client = await openRaw(url);
    const body = createBody(
      createPart('name="avatar"; filename="a.jpg"', Buffer.alloc(12 * MEBIBYTE)),
    );
    await client.write(createHead({ 'Content-Length': body.length }));
    await client.write(body);
    expect((await client.readResponse())?.body).toContain('avatar_too_large');
    const secondBody = createBody(createPart('name="avatar"; filename="a.jpg"', 'content'));
    await client.write(createHead({ 'Content-Length': secondBody.length }));
    await client.write(secondBody);
    expect((await client.readResponse())?.body).toContain('"bytes":7');
  });

  test.each([
    ['before the form', ''],
    [
      'after the form',
      createBody(createPart('name="avatar"; filename="a.jpg"', 'content')).toString(),
    ],
    ['in the headers of a part', `--${BOUNDARY}\r\nX: `],
    ['in a part without a name', `--${BOUNDARY}\r\n\r\n`],
    ['in the file', `--${BOUNDARY}\r\n${disposition('name="avatar"; filename="a"')}\r\n\r\n`],
    ['in the wrong file', `--${BOUNDARY}\r\n${disposition('name="b"; filename="a"')}\r\n\r\n`],
  ])('receives a response and is closed if it sends endless data %s', async (_, start) => {
    using client = await openRaw(url);
    await client.write(createHead({ 'Transfer-Encoding': 'chunked' }));
    if (start !== '') await client.write(createChunk(Buffer.from(start)));
    const filler = createChunk(Buffer.alloc(256 * 1024, 'x'));
    for (let sent = 0; sent < 60 * MEBIBYTE && !client.socket.destroyed; sent += 256 * 1024) {
      await client.write(filler);
    }
    await client.closed;
    expect([413, 400, 200]).toContain((await client.readResponse())?.status);
    expect(outcomes).toHaveLength(1);
    // The maximum file size, plus 16 drained mebibytes, plus one read from the socket.
    expect(sockets[0]?.bytesRead).toBeLessThan(MAX_AVATAR_BYTES + 17 * MEBIBYTE);
  });

  test('that closes during the upload ends the request', async () => {
    using client = await openRaw(url);
    const body = createBody(createPart('name="avatar"; filename="a.jpg"', Buffer.alloc(MEBIBYTE)));
    await client.write(createHead({ 'Content-Length': body.length }));
    await client.write(body.subarray(0, MEBIBYTE / 2));
    await sleep(50);
    expect(outcomes).toEqual([]);
    client.socket.destroy();
    await expect.poll(() => outcomes).toEqual(['invalid_request']);
    await expectWithinTenSeconds(app.close());
  });

  test('that closes before the upload is read ends the request', async () => {
    using client = await openRaw(url);
    await client.write(head('PUT', '/late', { 'Content-Type': FORM_TYPE, 'Content-Length': 9 }));
    await expect.poll(() => sockets[0]?.bytesRead).toBeGreaterThan(0);
    client.socket.destroy();
    await expect.poll(() => outcomes).toEqual(['invalid_request']);
  });

  test('does not delay the server’s shutdown after a rejected upload', async () => {
    using client = await openRaw(url);
    const secondPart = createPart('name="other"; filename="b.jpg"', Buffer.alloc(4 * MEBIBYTE));
    const body = createBody(createPart('name="avatar"; filename="a.jpg"', 'content'), secondPart);
    await client.write(createHead({ 'Content-Length': body.length }));
    await client.write(body);
    expect((await client.readResponse())?.status).toBe(400);
    await expect.poll(() => sockets[0]?.bytesRead).toBeGreaterThan(body.length);
    await expectWithinTenSeconds(app.close());
  });
});

describe('drain', () => {
  test('ends after its timeout if the client stops sending', async () => {
    await using server = await startHttpServer((request, response) => {
      response.end('refused');
      drain(request, MEBIBYTE, 100);
    });
    using client = await openRaw(server.url);
    const startedAt = performance.now();
    await client.write(head('PUT', '/', { 'Content-Length': 1_000 }));
    await client.write('part of it');
    expect((await client.readResponse())?.body).toContain('refused');
    await expectWithinTenSeconds(client.closed);
    expect(performance.now() - startedAt).toBeGreaterThan(90);
  });
});

test('If uploads fill the memory, the largest one is rejected instead of the next one', async () => {
  const content = Buffer.alloc(MAX_AVATAR_BYTES - 1_000);
  const unfinished = createPart('name="avatar"; filename="a.jpg"', content);
  // All of them together have less than 128 MiB.
  const senders = await Promise.all(Array.from({ length: 25 }, () => openRaw(url)));
  for (const sender of senders) {
    await sender.write(createHead({ 'Content-Length': unfinished.length + 100 }));
    await sender.write(unfinished);
  }
  await expect.poll(() => receivedBytes).toBe(senders.length * unfinished.length);
  expect(await send(createForm(['avatar', Buffer.alloc(4 * MEBIBYTE)]))).toMatchObject({
    status: 200,
  });
  expect(outcomes.toSorted()).toEqual(['read', 'unavailable']);
  for (const { socket } of senders) socket.destroy();
  // Otherwise, they would still take memory in the next test.
  await expect.poll(() => outcomes).toHaveLength(1 + senders.length);
});

test('If uploads fill the memory, the ones that have been read are processed', async () => {
  const { promise, resolve: process } = Promise.withResolvers<void>();
  isProcessing = promise;
  const upload = () => send(createForm(['avatar', Buffer.alloc(MAX_AVATAR_BYTES)]));
  // Each takes 10 MiB once it has been read, so that these take more than 128 MiB.
  const read = Array.from({ length: 12 }, upload);
  await expect.poll(() => outcomes).toHaveLength(12);
  read.push(upload());
  await expect.poll(() => outcomes).toHaveLength(13);
  expect(await upload()).toMatchObject({ code: 'unavailable' });
  process();
  expect(await Promise.all(read)).toEqual(Array(13).fill(expect.objectContaining({ status: 200 })));
});

type FormFile = readonly [
  name: string,
  bytes: Buffer<ArrayBuffer>,
  filename?: string,
  type?: string,
];

function createForm(...files: FormFile[]): FormData {
  const form = new FormData();
  for (const [name, bytes, filename = 'avatar.jpg', type = 'image/jpeg'] of files) {
    form.append(name, new Blob([bytes], { type }), filename);
  }
  return form;
}

function disposition(parameters: string): string {
  return `Content-Disposition: form-data; ${parameters}`;
}

function createPart(parameters: string, content: string | Buffer): Buffer {
  const header = `--${BOUNDARY}\r\n${disposition(parameters)}\r\nContent-Type: image/jpeg\r\n\r\n`;
  return Buffer.concat([Buffer.from(header), Buffer.from(content), Buffer.from('\r\n')]);
}

function createBody(...parts: Buffer[]): Buffer {
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

async function send(body: FormData | string | Buffer, type = FORM_TYPE) {
  const response = await fetch(`${url}/avatar`, {
    method: 'PUT',
    body: Buffer.isBuffer(body) ? new Uint8Array(body) : body,
    ...(body instanceof FormData ? {} : { headers: { 'Content-Type': type } }),
    signal: AbortSignal.timeout(30_000),
  });
  const result = (await response.json()) as Record<string, unknown>;
  return { status: response.status, ...result } as Record<string, unknown>;
}

function createHead(headers: Record<string, string | number>): string {
  return head('PUT', '/avatar', { 'Content-Type': FORM_TYPE, ...headers });
}

function createChunk(data: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]);
}

/** Less than the timeouts of the server, and enough for a busy machine. */
async function expectWithinTenSeconds(task: Promise<unknown>): Promise<void> {
  const late = Symbol('late');
  expect(await Promise.race([task, sleep(10_000, late)])).not.toBe(late);
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
