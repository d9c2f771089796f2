import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { createClient, createConfig } from '../../../generated/client/index.ts';
import * as api from '../../../generated/sdk.gen.ts';
import { registerWith, type TestUser } from '../../support/client.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { pipeToImport } from '../../support/import.ts';
import { childrenOf, type ThreadTimes, threadTimes } from '../../support/process-usage.ts';
import { preload } from '../../support/processes.ts';
import { type Server, startServer } from '../../support/server.ts';
import { createSpace, joinSpace, sendMessage } from '../../support/spaces.ts';
import { median, quantile } from '../../support/statistics.ts';
import { textOf } from '../bench/data.ts';
import { seededRandom } from '../bench/random.ts';
import { mistype } from '../bench/vocabulary.ts';
import type { AttackOrder } from './attack.ts';
import { type Call, duration, send, type TimedOutcome } from './load.ts';
import { registerAll } from './people.ts';
import type { Trial } from './trial.ts';

/** Time between two requests of the other user, who looks at the response before the next request. */
const PAUSE_MS = 50;

/** The medians of the other user beside an attack are at most this many times as long, plus the noise of the machine. */
const MAX_FACTOR = 3;
const NOISE_MS = 3;

/** The median of uploads beside four accounts that upload images of 64 megapixels, which share the time evenly. */
const MAX_UPLOAD_FACTOR = 5;

/** One of these rounds must be within the limits, because other programs can delay a user in other ways, too. */
const ROUNDS = 3;

/** The people in an office make this many requests per second, one person one every two seconds. */
const OFFICE_RATE = 100;

/** Delays of a message are at most this long beside the followers of another space. */
const MAX_DELIVERY_MS = 100;

/** Where the requests of an attack come from. The server trusts the header X-Forwarded-For. */
const NETWORKS = {
  'one IPv4 address': () => '192.0.2.7',
  'one /64': (i: number) => `2001:db8:7:7::${i.toString(16)}`,
  'one /48': (i: number) => `2001:db8:7:${i.toString(16)}::1`,
} satisfies Record<string, (i: number) => string>;

interface Attack {
  name: string;
  /** The connections send these requests in turn. */
  calls: readonly Call[];
  /** Whether the other user uploads avatars instead. */
  delaysUploads?: boolean;
  /** If it differs from those of other attacks. */
  connections?: number;
  /** See `AttackOrder.follows`. */
  follows?: boolean;
}

type RunningAttack = Attack & { network: keyof typeof NETWORKS; connections: number };

export const fairShares: Trial = {
  promise:
    'One address with any number of connections and accounts does not delay others noticeably, and the people behind an address are not limited.',
  runsOnPostgresql: true,
  measuresTime: true,
  async run(scale) {
    const isFull = scale === 'full';
    const milliseconds = isFull ? 2_500 : 1_200;
    // With the default limits.
    const settings = { RATE_LIMITS: 'on', TRUST_PROXY: '127.0.0.0/8' };
    const sizes = { spaces: isFull ? 60_000 : 10_000, accounts: isFull ? 500 : 50 };
    const results: string[] = [];
    const harmful: string[] = [];
    for (const workers of isFull ? ['1', '2'] : ['1']) {
      await using service = await openService({ ...settings, WORKERS: workers }, sizes);
      const { server, prepared } = service;
      using connection = openConnection(server);
      const { requests } = await service.nextVisitor();
      await useService(connection, requests, milliseconds, PAUSE_MS);
      const measure = async (attack: RunningAttack, duration: number) => {
        const { name, connections, network } = attack;
        const { isHarmless, rounds } = await compare(service, duration, attack);
        const result = `${name}, ${connections} connections of ${network}, ${workers} workers: ${rounds}`;
        (isHarmless ? results : harmful).push(result);
        // The full trial takes more than half an hour.
        if (isFull) console.log(isHarmless ? result : `HARMFUL: ${result}`);
      };
      for (const attack of prepared.attacks) {
        for (const [network, connections] of attackSizes(attack, isFull)) {
          await measure({ ...attack, network, connections }, milliseconds);
        }
      }
      const [first] = prepared.attacks as [Attack];
      const long = { ...first, name: `${first.name} for a minute`, connections: 80 } as const;
      if (isFull) await measure({ ...long, network: 'one IPv4 address' }, 60_000);
    }
    await using service = await openService(settings, sizes);
    results.push(await followersTrial(service, isFull ? 2_000 : 300));
    results.push(await officeTrial(service, isFull ? 60_000 : 4_000));
    results.push(await controlTrial(settings, sizes, milliseconds));
    assert.equal(harmful.length, 0, [...harmful, ...results].join('\n'));
    return `medians (p99) of another user in ms:\n${results.join('\n')}`;
  },
};

function attackSizes({ connections }: Attack, isFull: boolean): [keyof typeof NETWORKS, number][] {
  if (connections) return [['one IPv4 address', connections]];
  if (!isFull) return [['one IPv4 address', 80]];
  return [
    ['one IPv4 address', 10],
    ['one IPv4 address', 80],
    ['one IPv4 address', 400],
    ['one /64', 80],
    ['one /48', 80],
  ];
}

/** A message to a space with many followers in one network must not delay one to another space. */
async function followersTrial({ server, prepared }: Service, connections: number): Promise<string> {
  const { attackers, user, own, crowd } = prepared;
  const [first] = attackers as [TestUser];
  const attack = {
    name: 'followers',
    calls: [callOf('messages', `${await followPath(first, crowd)}&wait=25`)],
    follows: true,
    network: 'one IPv4 address',
    connections,
  } as const;
  const deliver = async () => {
    const path = `${await followPath(user, own)}&wait=25`;
    const delivered = send(
      server.url,
      from('198.51.100.254', callOf('messages', path)),
      new Agent(),
    );
    await sleep(200);
    const sentAt = performance.now();
    if (stop) await sendMessage(first, crowd, 'Lorem ipsum '.repeat(80));
    await sendMessage(user, own, 'hello');
    const outcome = await delivered;
    assert.equal(outcome.status, 200);
    return outcome.endedAt - sentAt;
  };
  let stop: (() => Promise<number>) | undefined;
  const calm: number[] = [];
  for (let i = 0; i < 5; i += 1) calm.push(await deliver());
  stop = await startAttack(server, attack);
  await sleep(2_000);
  const busy: number[] = [];
  for (let i = 0; i < 5; i += 1) busy.push(await deliver());
  const responses = await stop();
  const result = `${connections} followers of another space: message after ${median(calm).toFixed(0)} -> ${median(busy).toFixed(0)} ms (${responses} responses)`;
  assert(responses >= connections, `the followers got too few messages, ${result}`);
  assert(median(busy) <= MAX_FACTOR * median(calm) + MAX_DELIVERY_MS, result);
  return result;
}

async function followPath(
  { client }: Pick<TestUser, 'client'>,
  { space_id }: { space_id: string },
): Promise<string> {
  const { data } = await api.listMessages({ client, query: { space_id }, throwOnError: true });
  return `/api/messages?space_id=${space_id}&after=${data.newer_cursor}`;
}

/** The people behind one address use the service normally, alone and beside an attack. None of their requests may fail. */
async function officeTrial({ server, prepared }: Service, milliseconds: number): Promise<string> {
  const { attackers: people, crowd, attacks } = prepared;
  const address = '198.51.100.99';
  const follow = await followPath(people[0] as TestUser, crowd);
  const calls = people.flatMap((person, i) => [
    callOf('messages', `/api/messages?space_id=${crowd.space_id}`, person),
    callOf('space', `/api/spaces/${crowd.space_id}`, person),
    callOf('participations', '/api/participations?sort=recent', person),
    callOf('search', `/api/spaces/search?q=bread%20${i}`),
    callOf('bio', '/api/profile/bio', person, 'PUT', { bio: `Bio no. ${i}` }),
  ]);
  const results: string[] = [];
  for (const attack of [undefined, attacks[0]]) {
    const stop =
      attack &&
      (await startAttack(server, { ...attack, network: 'one IPv4 address', connections: 80 }));
    const agent = new Agent({ keepAlive: true });
    const followers = people.map((person) =>
      send(server.url, from(address, callOf('follow', `${follow}&wait=3`, person)), agent),
    );
    const outcomes: Promise<TimedOutcome>[] = [];
    const start = performance.now();
    while (performance.now() - start < milliseconds) {
      const due = ((performance.now() - start) / 1000) * OFFICE_RATE;
      while (outcomes.length < due) {
        const call = calls[outcomes.length % calls.length] as Call;
        outcomes.push(send(server.url, from(address, call), agent));
      }
      await sleep(5);
    }
    const all = await Promise.all([...outcomes, ...followers]);
    agent.destroy();
    await stop?.();
    const failed = all.filter(({ status }) => status !== 200);
    const first = failed[0];
    const place = attack ? 'beside an attack' : 'alone';
    assert(
      !first,
      `${failed.length} requests of an office ${place} failed: ${first?.name} ${first?.status ?? first?.error}`,
    );
    const times = (await Promise.all(outcomes)).map(duration);
    results.push(`${place} ${median(times).toFixed(0)} (${quantile(times, 0.99).toFixed(0)})`);
  }
  return `${people.length} people in an office: ${results.join(', ')}`;
}

/** Without the lines of networks and accounts, the trial must notice each kind of attack. */
async function controlTrial(
  settings: Record<string, string>,
  sizes: Sizes,
  milliseconds: number,
): Promise<string> {
  const withoutLines = preload(`
    import { FairQueue } from '${new URL('../../../server/system/fair-queue.ts', import.meta.url)}';
    const { add, remove, charge } = FairQueue.prototype;
    const one = (sender) => ({ ...sender, network: '', account: '' });
    FairQueue.prototype.add = function (sender, item) { add.call(this, one(sender), item); };
    FairQueue.prototype.remove = function (sender, item) { remove.call(this, one(sender), item); };
    FairQueue.prototype.charge = function (sender, used) { charge.call(this, one(sender), used); };`);
  await using service = await openService({ ...settings, ...withoutLines }, sizes);
  const attack = service.prepared.attacks.find(({ name }) => name === 'participants') as Attack;
  const running = { ...attack, network: 'one IPv4 address', connections: 80 } as const;
  // After one round, the limits of reads stop the attack.
  const { isHarmless, rounds } = await compare(service, milliseconds, running, 1);
  assert(!isHarmless, `The trial does not notice a server without lines of networks: ${rounds}`);
  return `without lines of networks: ${rounds}`;
}

interface Service extends AsyncDisposable {
  server: Server;
  prepared: Prepared;
  /** Registers another user with an address of their own, who has used nothing of any limit yet. */
  nextVisitor(): Promise<Visitor>;
}

/** The requests of another user. */
interface Visitor {
  requests: readonly Call[];
  uploads: readonly Call[];
}

interface Prepared {
  attackers: readonly TestUser[];
  user: TestUser;
  /** A space of the user, and one of the attackers. */
  own: { space_id: string };
  crowd: { space_id: string };
  attacks: readonly Attack[];
}

/** Measures the other user beside an attack and without it, until a round is within the limits. */
async function compare(
  { server, nextVisitor }: Service,
  milliseconds: number,
  attack: RunningAttack,
  maxRounds = ROUNDS,
): Promise<{ isHarmless: boolean; rounds: string }> {
  const { requests, uploads } = await nextVisitor();
  const used = attack.delaysUploads ? uploads : requests;
  const maxFactor = attack.delaysUploads ? MAX_UPLOAD_FACTOR : MAX_FACTOR;
  // All rounds together stay within the limit of 60 uploads.
  const pauseMs = attack.delaysUploads ? milliseconds / 9 : PAUSE_MS;
  const rounds: string[] = [];
  let isHarmless = false;
  while (!isHarmless && rounds.length < maxRounds) {
    using connection = openConnection(server);
    const calm = await useService(connection, used, milliseconds, pauseMs);
    findProcess(connection);
    const stop = await startAttack(server, attack);
    const busy = await useService(connection, used, milliseconds, pauseMs);
    const sent = await stop();
    isHarmless =
      busy.failed.length === 0 &&
      used.every(({ name }) => busy.median(name) <= maxFactor * calm.median(name) + NOISE_MS);
    rounds.push(`${calm} -> ${busy} (${sent} requests)`);
  }
  return { isHarmless, rounds: rounds.join(', then ') };
}

interface Sizes {
  spaces: number;
  accounts: number;
}

/** Imports spaces, starts a server and creates accounts. */
async function openService(settings: Record<string, string>, sizes: Sizes): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-fair-shares-'));
  opened.defer(() => rm(dataDir, { recursive: true }));
  const database = opened.use(await createTestDatabase());
  const location = { ...database.settings, DATA_DIR: dataDir };
  await pipeToImport(location, importedSpaces(sizes.spaces));
  const server = opened.use(await startServer({ ...settings, ...location }));
  const prepared = await prepare(server, sizes);
  const avatar = await smallImage();
  let visitors = 0;
  const nextVisitor = async (): Promise<Visitor> => {
    visitors += 1;
    const address = `198.51.100.${visitors}`;
    const visitor = await registerFrom(server, `visitor${visitors}`, address);
    const requests = [
      callOf('search', '/api/spaces/search?q=bread%20room&as_typed=true'),
      callOf('space', `/api/spaces/${prepared.own.space_id}`, visitor),
      callOf('profile', '/api/profile/me', visitor),
      callOf('bio', '/api/profile/bio', visitor, 'PUT', { bio: 'Quiet' }),
    ];
    const uploads = [await uploadOf('upload', visitor, avatar)];
    const fromAddress = (call: Call) => from(address, call);
    return { requests: requests.map(fromAddress), uploads: uploads.map(fromAddress) };
  };
  const resources = opened.move();
  return {
    server,
    prepared,
    nextVisitor,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Registers a user from any address, because registrations of one are limited. */
function registerFrom({ url }: Server, username: string, address: string): Promise<TestUser> {
  return registerWith((auth) => {
    const headers = { 'x-forwarded-for': address };
    return createClient(createConfig({ baseUrl: url, headers, ...(auth && { auth }) }));
  }, username);
}

/** Creates accounts and spaces, and returns the requests of the attacks. */
async function prepare(server: Server, { accounts }: Sizes): Promise<Prepared> {
  const user = await registerFrom(server, 'user', '198.51.100.254');
  const own = await createSpace(user, { title: 'A quiet room', visibility: 'public' });
  const attackers = await registerAll(accounts, (i) =>
    registerFrom(server, `attacker${i}`, `203.0.113.${i % 250}`),
  );
  const [first, ...others] = attackers as [TestUser, ...TestUser[]];
  const crowd = await createSpace(first, { title: 'A crowd' });
  for (const other of others.slice(0, 100)) await joinSpace(other, crowd);

  const message = { space_id: crowd.space_id, text: 'Lorem ipsum '.repeat(80) };
  let message_id = '';
  for (let i = 0; i < 300; i += 1) {
    const sender = attackers[i % 50] as TestUser;
    if (i < 50) await joinSpace(sender, crowd);
    const { data } = await api.sendMessage({ ...sender, body: message, throwOnError: true });
    message_id = data.message_id;
  }
  const image = await largeImage();
  const byEach = (call: (of: TestUser, i: number) => Call) => attackers.map(call);
  const draw = seededRandom(50);
  return {
    attackers,
    user,
    own,
    crowd,
    attacks: [
      {
        name: 'misspelt searches',
        calls: Array.from({ length: 400 }, () => callOf('search', misspeltSearch(draw))),
      },
      {
        name: 'participants',
        calls: byEach((of) =>
          callOf('participants', `/api/participants?space_id=${crowd.space_id}&limit=100`, of),
        ),
      },
      {
        name: 'participations of one account',
        calls: [callOf('participations', '/api/participations?limit=100', first)],
      },
      {
        name: 'own statistics',
        calls: byEach((of) => callOf('profile', '/api/profile/me', of)),
      },
      {
        name: 'data downloads',
        calls: byEach((of) => callOf('data', '/api/profile/data', of)),
      },
      {
        name: 'writes to nothing',
        calls: byEach((of) =>
          callOf('appreciation', `/api/messages/${own.space_id}/appreciation`, of, 'DELETE'),
        ),
      },
      {
        name: 'writes with another version',
        calls: byEach((of) => {
          const call = callOf('edit', `/api/spaces/${crowd.space_id}`, of, 'PATCH', { title: 'x' });
          return { ...call, headers: { ...call.headers, 'if-match': '"1-AAAAAAAAAAAAAAAA"' } };
        }),
      },
      {
        name: 'repeated messages',
        calls: byEach((of, i) => {
          const call = callOf('message', '/api/messages', of, 'POST', message);
          return { ...call, headers: { ...call.headers, 'idempotency-key': `repetition-no-${i}` } };
        }),
      },
      {
        name: 'read positions',
        calls: byEach((of) =>
          callOf('position', `/api/participations/${crowd.space_id}/read`, of, 'PUT', {
            message_id,
          }),
        ),
      },
      { name: 'nested JSON', calls: [nestedLogin()] },
      { name: 'unknown paths', calls: [callOf('path', `/${'x'.repeat(15_000)}`)] },
      { name: 'preflights', calls: [callOf('preflight', '/api/messages', undefined, 'OPTIONS')] },
      { name: 'files', calls: [callOf('file', '/docs/js/scalar.js')], connections: 32 },
      {
        name: 'large images',
        calls: await Promise.all(
          attackers.slice(0, 4).map((of) => uploadOf('large image', of, image)),
        ),
        connections: 8,
        delaysUploads: true,
      },
    ],
  };
}

function* importedSpaces(count: number): Iterable<string> {
  const user = { user_id: 'u_import', username: 'importer', email: 'importer@example.com' };
  yield `${JSON.stringify({ type: 'user', ...user })}\n`;
  for (let i = 0; i < count; i += 1) {
    const space = { space_id: `s_import${i}`, creator_id: user.user_id, visibility: 'public' };
    yield `${JSON.stringify({ type: 'space', ...space, ...textOf(i), tags: [] })}\n`;
  }
}

function callOf(name: string, path: string, user?: TestUser, method = 'GET', body?: object): Call {
  const headers: Record<string, string> = { ...user?.headers };
  if (!body) return { name, method, path, headers };
  const encoded = Buffer.from(JSON.stringify(body));
  headers['content-type'] = 'application/json';
  headers['content-length'] = String(encoded.length);
  return { name, method, path, headers, body: encoded };
}

/** Returns a search of 16 misspelt words, the most expensive kind. */
function misspeltSearch(draw: () => number): string {
  const words: string[] = [];
  while (words.length < 16) {
    const { title, description } = textOf(Math.floor(draw() * 10_000));
    const word = /\p{L}{7,}/u.exec(`${description} ${title}`)?.[0];
    if (word) words.push(mistype(draw, word).slice(0, 11));
  }
  return `/api/spaces/search?q=${encodeURIComponent(words.join(' '))}`;
}

function nestedLogin(): Call {
  const body = Buffer.from('['.repeat(16_000) + ']'.repeat(16_000));
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  return { name: 'login', method: 'POST', path: '/api/auth/login', headers, body };
}

let encodedLargeImage: Promise<Buffer> | undefined;

/** Returns a progressive JPEG with the maximum number of pixels. Encodes it once, because that takes seconds. */
function largeImage(): Promise<Buffer> {
  const size = { width: 8_000, height: 8_000, channels: 3, background: 'teal' } as const;
  encodedLargeImage ??= sharp({ create: size }).jpeg({ progressive: true }).toBuffer();
  return encodedLargeImage;
}

function smallImage(): Promise<Buffer> {
  const create = { width: 400, height: 400, channels: 3, background: 'teal' } as const;
  return sharp({ create }).png().toBuffer();
}

async function uploadOf(name: string, { headers }: TestUser, image: Buffer): Promise<Call> {
  const form = new FormData();
  form.set('avatar', new Blob([new Uint8Array(image)]), 'avatar.jpg');
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type') as string;
  const body = Buffer.from(await encoded.arrayBuffer());
  const path = '/api/profile/picture';
  return { name, method: 'PUT', path, headers: { ...headers, 'content-type': type }, body };
}

interface Usage {
  failed: readonly TimedOutcome[];
  /** The median duration of the requests with a name. */
  median(name: string): number;
  toString(): string;
}

/** A connection to one of the server's processes. */
interface Connection extends Disposable {
  url: string;
  agent: Agent;
  /** How long the processes that may be the one have run during the requests. */
  ran: Map<number, number>;
}

function openConnection({ url, child }: Server): Connection {
  const pid = child.pid as number;
  const workers = childrenOf(pid);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    url,
    agent,
    ran: new Map((workers.length > 0 ? workers : [pid]).map((process) => [process, 0])),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** Sends the requests of another user in turn. */
async function useService(
  connection: Connection,
  calls: readonly Call[],
  milliseconds: number,
  pauseMs: number,
): Promise<Usage> {
  const durations = new Map<string, number[]>(calls.map(({ name }) => [name, []]));
  const failed: TimedOutcome[] = [];
  const end = performance.now() + milliseconds;
  for (let i = 0; performance.now() < end; i += 1) {
    const call = calls[i % calls.length] as Call;
    const outcome = await sendTimed(connection, call);
    if (outcome.status !== 200) failed.push(outcome);
    durations.get(call.name)?.push(outcome.elapsed);
    await sleep(pauseMs);
  }
  const medianOf = (name: string) => median(durations.get(name) ?? []);
  const describe = ([name, times]: [string, number[]]) =>
    `${name} ${medianOf(name).toFixed(1)} (${quantile(times, 0.99).toFixed(0)})`;
  const failures = failed.map(({ name, status, error }) => `, ${name} failed: ${status ?? error}`);
  return {
    failed,
    median: medianOf,
    toString: () => [...durations].map(describe).join(', ') + failures.join(''),
  };
}

function from(address: string, call: Call): Call {
  return { ...call, headers: { ...call.headers, 'x-forwarded-for': address } };
}

/**
 * Sends a request. Returns its outcome, and its duration without the time in which the server or this process waited for
 * a processor. Other programs cause such waits, the more the busier the server is. The duration is at least the time that
 * the server's main thread ran.
 */
async function sendTimed(connection: Connection, call: Call) {
  const { url, agent, ran } = connection;
  const pids = [...ran.keys(), process.pid];
  const before = pids.map(threadTimes);
  const outcome = await send(url, call, agent);
  const used = pids.map((pid, i) => {
    const changes = Array.from(threadTimes(pid), ([thread, times]) => {
      const start = before[i]?.get(thread) ?? { ran: 0, waited: 0 };
      return { thread, ran: times.ran - start.ran, waited: times.waited - start.waited };
    });
    // The waits of several threads overlap.
    const waited = Math.max(...changes.map((each) => each.waited));
    return { pid, waited, ran: changes.find(({ thread }) => thread === pid)?.ran ?? 0 };
  });
  const client = used.pop() as ProcessUse;
  for (const { pid, ran: more } of used) ran.set(pid, (ran.get(pid) ?? 0) + more);
  const server = used.reduce((a, b) =>
    ranFor(connection, b.pid) > ranFor(connection, a.pid) ? b : a,
  );
  const elapsed = Math.max(server.ran, duration(outcome) - server.waited - client.waited);
  return { ...outcome, elapsed };
}

function ranFor({ ran }: Connection, pid: number): number {
  return ran.get(pid) ?? 0;
}

/** Of the processes, keeps the one that has run most. Call it when only the requests of the connection have run. */
function findProcess(connection: Connection): void {
  const { ran } = connection;
  const [, ...others] = [...ran.keys()].sort(
    (a, b) => ranFor(connection, b) - ranFor(connection, a),
  );
  for (const pid of others) ran.delete(pid);
}

interface ProcessUse extends ThreadTimes {
  pid: number;
}

/**
 * Starts an attack in a process of its own, because its responses would delay those of the other user, who is measured
 * in this one. Returns a function that stops it and returns the number of requests.
 */
async function startAttack(
  { url }: Server,
  { connections, calls, network, follows }: RunningAttack,
): Promise<() => Promise<number>> {
  const attacker = fork(new URL('./attack.ts', import.meta.url), { serialization: 'advanced' });
  const count = Math.max(connections, calls.length);
  const order: AttackOrder = {
    url,
    connections,
    ...(follows && { follows }),
    calls: Array.from({ length: count }, (_, i) =>
      from(NETWORKS[network](i), calls[i % calls.length] as Call),
    ),
  };
  attacker.send(order);
  await nextMessage(attacker);
  return async () => {
    attacker.send('stop');
    return nextMessage(attacker);
  };
}

async function nextMessage(attacker: ChildProcess): Promise<number> {
  const [message] = await Promise.race([
    once(attacker, 'message'),
    once(attacker, 'exit').then(([code]) => {
      throw new Error(`The attacker has exited with code ${code}.`);
    }),
  ]);
  return message;
}
