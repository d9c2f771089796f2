import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { DEFAULT_AVATAR_NAME, isAvatarName } from '../../server/avatars/store.ts';
import { validateExchange } from '../support/contract.ts';
import { webpChunks } from '../support/image-chunks.ts';
import { randomNumbers } from '../support/random.ts';
import { openRaw } from '../support/raw.ts';
import { type Server, startServer } from '../support/server.ts';
import { type Bomb, bombs, PAYLOAD } from './avatars/bombs.ts';
import { mutate, soundImages } from './avatars/mutations.ts';
import { type Person, signUpAll } from './people.ts';
import { CannotRun, type Scale, type Trial } from './trial.ts';

const MB = 1024 * 1024;

/** How many upload at once. */
const PEOPLE = 4;

/** What the server may take at most, in bytes: half a gigabyte more than usual for the one image that is decoded. */
const MOST_MEMORY = 1_000 * MB;

/** What it may keep of all that, in bytes. */
const KEPT_MEMORY = 100 * MB;

/** How long any upload may take to be answered, in milliseconds: decoding alone is given up after 10 seconds. */
const PATIENCE = 20_000;

const counts: Record<Scale, { mutated: number; uploads: number }> = {
  quick: { mutated: 60, uploads: 48 },
  full: { mutated: 10_000, uploads: 9_999 },
};

export const images: Trial = {
  promise:
    'No image crashes the server or costs more than its share, and no upload leaves a trace.',
  async run(scale) {
    if (!existsSync('/proc/self/fd')) throw new CannotRun('needs /proc');
    const temporary = await mkdtemp(join(tmpdir(), 'space-service-uploads-'));
    try {
      await using server = await startServer({ TMPDIR: temporary });
      const people = await signUpAll(server.url, PEOPLE);
      const sound = await soundImages();
      // What is loaded and allocated once is no growth.
      await inTurns(people, sound.length * 3, (i, person, agent) =>
        upload(server, person, agent, sound[i % sound.length] as Buffer),
      );
      const before = await rest(server);

      let slowest = { name: '', milliseconds: 0 };
      const judge = async (person: Person, agent: Agent, sample: Bomb) => {
        const begun = performance.now();
        const status = await check(server, person, agent, sample);
        const milliseconds = Math.round(performance.now() - begun);
        if (milliseconds > slowest.milliseconds) slowest = { name: sample.name, milliseconds };
        assert(milliseconds < PATIENCE, `${sample.name} took ${milliseconds} ms`);
        return status;
      };
      const seed = randomBytes(4).readUInt32LE();
      const told = (i: number) => `image ${i} of seed ${seed}`;
      const mutated = await inTurns(people, counts[scale].mutated, (i, person, agent) =>
        judge(person, agent, {
          ...{ name: told(i), bytes: mutate(sound, randomNumbers(seed + i)) },
          statuses: [200, 400, 415, 422],
        }),
      );
      const afterMutated = await rest(server);

      const all = await bombs(scale);
      // One person, so that none has to wait for another.
      const bombed = await inTurns(people.slice(0, 1), all.length, (i, person, agent) =>
        judge(person, agent, all[i] as Bomb),
      );
      const afterBombs = await rest(server);

      const large = await largeImage();
      const uploaded = await inTurns(people, counts[scale].uploads, (i, person, agent) =>
        i % 3 === 0 ? abort(server, person, large) : upload(server, person, agent, large),
      );
      const after = await rest(server);

      const failed = server.output();
      assert.equal(server.child.exitCode, null, failed);
      assert.equal(server.unexpectedOutput(), '', 'the server warned of something');
      const { aborted = 0, 200: finished = 0 } = uploaded;
      assert.deepEqual(Object.keys(uploaded).sort(), ['200', 'aborted'], tally(uploaded));
      assert(aborted === counts[scale].uploads / 3 && finished === 2 * aborted, tally(uploaded));

      for (const each of [afterMutated, afterBombs, after]) {
        assert(each.peak <= MOST_MEMORY, `resident memory reached ${inMB(each.peak)}`);
        const { descriptors } = before;
        assert(each.descriptors <= descriptors, `descriptors ${descriptors}, ${each.descriptors}`);
      }
      const growth = after.memory - before.memory;
      assert(growth <= KEPT_MEMORY, `memory grew from ${inMB(before.memory)} by ${inMB(growth)}`);
      assertNoLeftovers(server, temporary);

      const memory = [before, afterMutated, afterBombs, after].map((each) => inMB(each.memory));
      return `${counts[scale].mutated} mutated images: ${tally(mutated)}; ${all.length} bombs and disguises: ${tally(bombed)}; the slowest took ${slowest.milliseconds} ms (${slowest.name}); ${counts[scale].uploads} uploads: ${tally(uploaded)}; every avatar is a bare WebP of 512 x 512. Memory at rest ${memory.join(', ')} (bound: ${inMB(KEPT_MEMORY)} more), at most ${inMB(after.peak)} (bound: ${inMB(MOST_MEMORY)}); descriptors ${before.descriptors}, then ${after.descriptors}; no file left`;
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  },
};

type Outcome = number | 'aborted';

/** Has each person do one thing after another until all are done. Answers with how often each outcome came. */
async function inTurns(
  people: readonly Person[],
  count: number,
  act: (i: number, person: Person, agent: Agent) => Promise<Outcome>,
): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  let next = 0;
  await Promise.all(
    people.map(async (person) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        while (next < count) {
          const outcome = await act(next++, person, agent);
          outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        }
      } finally {
        agent.destroy();
      }
    }),
  );
  return outcomes;
}

/** Uploads what may be refused, and looks at the avatar that it became if not. Keeps what breaks the promise. */
async function check(server: Server, person: Person, agent: Agent, sample: Bomb) {
  const { name, bytes, statuses } = sample;
  try {
    const status = await upload(server, person, agent, bytes);
    assert(statuses.includes(status), `was answered ${status}`);
    return status;
  } catch (cause) {
    const file = join(tmpdir(), `space-service-picture-${Date.now()}`);
    writeFileSync(file, bytes);
    throw new Error(`${name} (kept as ${file}): ${cause}\n${server.output()}`, { cause });
  }
}

const BOUNDARY = 'boundary-of-an-image';
const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

function formOf(image: Buffer): Buffer {
  const disposition = 'form-data; name="avatar"; filename="../../avatar.jpg"';
  const head = `--${BOUNDARY}\r\nContent-Disposition: ${disposition}\r\nContent-Type: image/jpeg\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), image, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
}

/** Uploads an image, and holds the answer to the contract. Answers with its status. */
async function upload(
  { url }: Server,
  { token }: Person,
  agent: Agent,
  image: Buffer,
): Promise<number> {
  const target = `${url}/api/profile/picture`;
  const body = formOf(image);
  const headers = { ...FORM, authorization: `Bearer ${token}`, 'content-length': body.length };
  const answer = await send(target, agent, { method: 'PUT', headers }, body);
  const text = answer.body.toString();
  validateExchange({ method: 'PUT', url: target, ...answer, body: text });
  if (answer.status === 200) await checkAvatar(JSON.parse(text).profile_picture, agent);
  return answer.status;
}

async function checkAvatar(url: string, agent: Agent): Promise<void> {
  const { status, headers, body } = await send(url, agent, {});
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'image/webp');
  assert.match(webpChunks(body).join(' '), /^(VP8X ALPH )?VP8 $/);
  assert(!body.includes(PAYLOAD.slice(0, 20)), 'the avatar holds what was hidden in the upload');
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

/** Sends part of an upload, and cuts the connection. */
async function abort({ url }: Server, { token }: Person, image: Buffer): Promise<'aborted'> {
  const body = formOf(image);
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

/** About 200 kB, which are on their way for a while. */
function largeImage(): Promise<Buffer> {
  const [width, height] = [260, 260];
  const pixels = randomBytes(width * height * 3);
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/** What the server holds, once it has nothing to do. */
async function rest({ child }: Server) {
  const pid = child.pid as number;
  const status = (name: string) => {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
  };
  const descriptors = () => readdirSync(`/proc/${pid}/fd`).length;
  // Connections are closed by now, though the server may not have noticed yet.
  let least = descriptors();
  for (let i = 0; i < 20; i += 1) {
    await sleep(100);
    least = Math.min(least, descriptors());
  }
  return { memory: status('VmRSS'), peak: status('VmHWM'), descriptors: least };
}

/** Of each person's images only the last is there, if any, and nothing that was on its way. */
function assertNoLeftovers({ dataDir }: Server, temporary: string): void {
  const names = readdirSync(join(dataDir, 'avatars'));
  const odd = names.filter((name) => name !== DEFAULT_AVATAR_NAME && !isAvatarName(name));
  assert.deepEqual(odd, [], 'temporary files are left');
  assert.equal(names.length, 1 + PEOPLE, `images are left: ${names}`);
  assert.deepEqual(readdirSync(temporary), [], 'temporary files are left');
}

function tally(outcomes: Record<string, number>): string {
  return Object.entries(outcomes)
    .map(([outcome, times]) => `${outcome} x ${times}`)
    .join(', ');
}

function inMB(bytes: number): string {
  return `${Math.round(bytes / MB)} MB`;
}
