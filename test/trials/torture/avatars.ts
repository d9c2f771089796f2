import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { DEFAULT_AVATAR_NAME, isAvatarName } from '../../../server/avatars/store.ts';
import { MARKER_NAME } from '../../../server/storage/database-marker.ts';
import { register, type TestUser } from '../../support/client.ts';
import { validateExchange } from '../../support/contract.ts';
import { webpChunks } from '../../support/image-chunks.ts';
import { peakResidentBytes, residentBytes } from '../../support/process-usage.ts';
import { randomIntegers } from '../../support/random.ts';
import { openRaw } from '../../support/raw.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import { type Server, startServer } from '../../support/server.ts';
import { type Bomb, bombs, PAYLOAD } from './avatars/bombs.ts';
import { mutate, validImages } from './avatars/mutations.ts';
import { formatCounts, registerAll } from './people.ts';
import { MissingRequirement, type Scale, type Trial } from './trial.ts';

const MEBIBYTE = 1024 * 1024;

/** Number of users who upload concurrently. */
const USERS = 4;

/** Leaves half a gigabyte for decoding, because the server decodes one image at a time. */
const MAX_MEMORY_BYTES = 1_000 * MEBIBYTE;

const MAX_MEMORY_GROWTH_BYTES = 100 * MEBIBYTE;

/** Maximum time until the response to an upload. The server aborts decoding after 10 seconds. */
const MAX_UPLOAD_MS = 20_000;

const counts: Record<Scale, { mutated: number; uploads: number }> = {
  quick: { mutated: 30, uploads: 48 },
  full: { mutated: 10_000, uploads: 9_999 },
};

export const avatars: Trial = {
  promise:
    'No uploaded image crashes the server or exceeds its limits, and uploads leave no temporary files or allocated memory.',
  runsOnPostgresql: false,
  async run(scale) {
    if (!existsSync('/proc/self/fd')) throw new MissingRequirement('needs /proc');
    const temporary = await mkdtemp(join(tmpdir(), 'space-service-uploads-'));
    try {
      await using server = await startServer({ TMPDIR: temporary });
      const people = await registerAll(USERS, (i) => register(server.url, `person-${i}`));
      const valid = await validImages();
      // Warm-up: one-time allocations do not count as growth.
      await runForUsers(people, valid.length * 3, (i, person, agent) =>
        upload(server, person, agent, valid[i % valid.length] as Buffer),
      );
      const before = await measureIdle(server);

      let slowest = { name: '', milliseconds: 0 };
      const checkTime = async (person: TestUser, agent: Agent, sample: Bomb) => {
        const start = performance.now();
        const status = await check(server, person, agent, sample);
        const milliseconds = Math.round(performance.now() - start);
        if (milliseconds > slowest.milliseconds) slowest = { name: sample.name, milliseconds };
        assert(milliseconds < MAX_UPLOAD_MS, `${sample.name} took ${milliseconds} ms`);
        return status;
      };
      const seed = randomBytes(4).readUInt32LE();
      const nameOf = (i: number) => `image ${i} of seed ${seed}`;
      const mutated = await runForUsers(people, counts[scale].mutated, (i, person, agent) =>
        checkTime(person, agent, {
          name: nameOf(i),
          bytes: mutate(valid, randomIntegers(seed + i)),
          statuses: [200, 400, 415, 422],
        }),
      );
      const afterMutated = await measureIdle(server, before.descriptors);

      const all = await bombs(scale);
      // One user, because concurrent uploads would wait for each other.
      const bombed = await runForUsers(people.slice(0, 1), all.length, (i, person, agent) =>
        checkTime(person, agent, all[i] as Bomb),
      );
      const afterBombs = await measureIdle(server, before.descriptors);

      const large = await largeImage();
      const uploaded = await runForUsers(people, counts[scale].uploads, (i, person, agent) =>
        i % 3 === 0 ? abort(server, person, large) : upload(server, person, agent, large),
      );
      const after = await measureIdle(server, before.descriptors);

      assert.equal(server.child.exitCode, null, server.output());
      assert.equal(server.unexpectedOutput(), '', 'the server logged a warning');
      const { aborted = 0, 200: finished = 0 } = uploaded;
      assert.deepEqual(
        Object.keys(uploaded).sort(),
        ['200', 'aborted'],
        formatCounts(Object.entries(uploaded)),
      );
      assert(
        aborted === counts[scale].uploads / 3 && finished === 2 * aborted,
        formatCounts(Object.entries(uploaded)),
      );

      for (const each of [afterMutated, afterBombs, after]) {
        assert(each.peak <= MAX_MEMORY_BYTES, `resident memory reached ${inMebibytes(each.peak)}`);
        assert(
          each.descriptors <= before.descriptors,
          `descriptors grew from ${before.descriptors} to ${each.descriptors}`,
        );
      }
      const growth = after.memory - before.memory;
      assert(
        growth <= MAX_MEMORY_GROWTH_BYTES,
        `memory grew from ${inMebibytes(before.memory)} by ${inMebibytes(growth)}`,
      );
      assertNoLeftovers(server, temporary);

      const memory = [before, afterMutated, afterBombs, after].map((each) =>
        inMebibytes(each.memory),
      );
      return `${counts[scale].mutated} mutated images: ${formatCounts(Object.entries(mutated))}; ${all.length} bombs and disguised files: ${formatCounts(Object.entries(bombed))}; slowest response ${slowest.milliseconds} ms (${slowest.name}); ${counts[scale].uploads} uploads: ${formatCounts(Object.entries(uploaded))}; every avatar is a WebP of 512 x 512 without metadata. Idle memory ${memory.join(', ')} (limit: ${inMebibytes(MAX_MEMORY_GROWTH_BYTES)} more), peak ${inMebibytes(after.peak)} (limit: ${inMebibytes(MAX_MEMORY_BYTES)}); descriptors ${before.descriptors} before and ${after.descriptors} after; no temporary files`;
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  },
};

type Outcome = number | 'aborted';

/** Calls `send` `count` times, sequentially for each user. Returns the number of each outcome. */
async function runForUsers(
  people: readonly TestUser[],
  count: number,
  send: (i: number, person: TestUser, agent: Agent) => Promise<Outcome>,
): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  let next = 0;
  await Promise.all(
    people.map(async (person) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        while (next < count) {
          const outcome = await send(next++, person, agent);
          outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        }
      } finally {
        agent.destroy();
      }
    }),
  );
  return outcomes;
}

/** Uploads a sample and checks the response and the avatar. Keeps the file if a check fails. */
async function check(server: Server, person: TestUser, agent: Agent, sample: Bomb) {
  const { name, bytes, statuses } = sample;
  try {
    const status = await upload(server, person, agent, bytes);
    assert(statuses.includes(status), `unexpected status ${status}`);
    return status;
  } catch (cause) {
    const file = join(tmpdir(), `space-service-avatar-${Date.now()}`);
    writeFileSync(file, bytes);
    throw new Error(`${name} (kept as ${file}): ${cause}\n${server.output()}`, { cause });
  }
}

const BOUNDARY = 'boundary-of-an-image';
const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

function createForm(image: Buffer): Buffer {
  const disposition = 'form-data; name="avatar"; filename="../../avatar.jpg"';
  const head = `--${BOUNDARY}\r\nContent-Disposition: ${disposition}\r\nContent-Type: image/jpeg\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), image, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
}

/** Uploads an image and validates the response against the contract. Returns the status. */
async function upload(
  { url }: Server,
  { token }: TestUser,
  agent: Agent,
  image: Buffer,
): Promise<number> {
  const target = `${url}/api/profile/picture`;
  const body = createForm(image);
  const headers = { ...FORM, authorization: `Bearer ${token}`, 'content-length': body.length };
  const response = await retryWhileUnavailable(() =>
    send(target, agent, { method: 'PUT', headers }, body),
  );
  const text = response.body.toString();
  validateExchange({ method: 'PUT', url: target, ...response, body: text });
  if (response.status === 200) await checkAvatar(JSON.parse(text).profile_picture, agent);
  return response.status;
}

async function checkAvatar(url: string, agent: Agent): Promise<void> {
  const { status, headers, body } = await retryWhileUnavailable(() => send(url, agent, {}));
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'image/webp');
  assert.match(webpChunks(body).join(' '), /^(VP8X ALPH )?VP8 $/);
  assert(!body.includes(PAYLOAD.slice(0, 20)), 'the avatar contains data hidden in the upload');
  const { info } = await sharp(body, { failOn: 'warning' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  assert.deepEqual([info.width, info.height], [512, 512]);
}

function send(
  url: string,
  agent: Agent,
  options: { method?: string; headers?: Record<string, string | number> },
  body?: Buffer,
): Promise<{ status: number; headers: Headers; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, ...options }, async (response) => {
      try {
        const headers = new Headers(response.headers as Record<string, string>);
        const status = response.statusCode ?? 0;
        resolve({ status, headers, body: await buffer(response) });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Sends part of an upload and closes the connection. */
async function abort({ url }: Server, { token }: TestUser, image: Buffer): Promise<'aborted'> {
  const body = createForm(image);
  using connection = await openRaw(url);
  await connection.write(
    [
      'PUT /api/profile/picture HTTP/1.1',
      'Host: localhost',
      `Content-Type: ${FORM['content-type']}`,
      `Authorization: Bearer ${token}`,
      `Content-Length: ${body.length}`,
      '\r\n',
    ].join('\r\n'),
  );
  await connection.write(body.subarray(0, 1 + Math.floor(Math.random() * (body.length - 1))));
  await sleep(Math.random() * 10);
  connection.socket.destroy();
  return 'aborted';
}

/** Returns a PNG of about 200 kB, large enough to be aborted while it is sent. */
function largeImage(): Promise<Buffer> {
  const edge = 260;
  const pixels = randomBytes(edge * edge * 3);
  return sharp(pixels, { raw: { width: edge, height: edge, channels: 3 } })
    .png()
    .toBuffer();
}

/**
 * Returns memory in bytes and open descriptors of the idle server.
 * @param maxDescriptors waits up to two seconds until no more are open; by default, for the lowest number in this time
 */
async function measureIdle({ child }: Server, maxDescriptors = 0) {
  const pid = child.pid as number;
  const countDescriptors = () => readdirSync(`/proc/${pid}/fd`).length;
  // The server may notice closed connections with a delay.
  let descriptors = countDescriptors();
  for (let i = 0; i < 20 && descriptors > maxDescriptors; i += 1) {
    await sleep(100);
    descriptors = Math.min(descriptors, countDescriptors());
  }
  return { memory: residentBytes(pid), peak: peakResidentBytes(pid), descriptors };
}

/** Asserts that only the current avatars remain, and no temporary files. */
function assertNoLeftovers({ dataDir }: Server, temporary: string): void {
  const names = readdirSync(join(dataDir, 'avatars'));
  const temporaryNames = names.filter(
    (name) => name !== DEFAULT_AVATAR_NAME && name !== MARKER_NAME && !isAvatarName(name),
  );
  assert.deepEqual(temporaryNames, [], 'temporary files remain');
  assert.equal(names.filter(isAvatarName).length, USERS, `avatars without a user remain: ${names}`);
  assert.deepEqual(readdirSync(temporary), [], 'temporary files remain');
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / MEBIBYTE)} MiB`;
}
