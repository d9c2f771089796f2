import { avatarFile } from '../support/avatar.ts';
import { inputNamesOf } from '../support/requests.ts';
import { type Answer, answers, parameterExamples } from './answers.ts';
import type { Transaction } from './dredd.ts';
import type { Servers } from './servers.ts';
import { freshName, type World } from './world.ts';

/** Changes a request made of the contract's examples so that it provokes one answer. */
type Change = (transaction: Transaction, world: World) => unknown;

const changesByStatus: Record<string, Change> = {
  400: (t) => t.request.body && setBody(t, { unknown: true }),
  401: (t) => setToken(t, 'of-nobody'),
  413: (t) => setBody(t, { padding: 'x'.repeat(32_768) }),
  415: (t) => setHeader(t, 'Content-Type', 'text/plain'),
  431: (t) => setPath(t, '?', `?${'x'.repeat(16_384)}=&`),
};

/** Without changes, the creator of the space and the message sends the request. */
const asCreator: Change = () => {};
const asOther: Change = (t, { other }) => setToken(t, other.token);
const takenName: Change = (t, { other }) => setBody(t, { username: other.username });
const wrongPassword: Change = (t) => setBody(t, { currentPassword: 'not the right one' });
const unknownAddress: Change = (t) => setBody(t, { email: `${freshName()}@example.com` });
const takenRegistration: Change = (t, world) =>
  setBody(t, { ...world.newcomer(), username: world.other.username });
const noAvatar: Change = (t) => setAvatar(t, new Blob(['These bytes are no avatar.']));

/** Take precedence over the changes by status. For 429, the request must count against the limit. */
const changes: Record<string, Change> = {
  // Without its stop word, this is another query, which Answered-Query names.
  'searchSpaces 200': (t) => setPath(t, 'q=sourdough', 'q=what%20sourdough'),
  'searchSpacesByTag 404': (t) => setPath(t, '/tag/baking', '/tag/'),

  'changeUsername 200': (t) => setBody(t, { username: freshName() }),
  'changeUsername 409': takenName,
  'changeUsername 429': (t, world) => {
    asOther(t, world);
    takenName(t, world);
  },
  'changeProfilePicture 200': async (t) => setAvatar(t, await avatarFile()),
  'changeProfilePicture 400': (t) => setAvatar(t),
  'changeProfilePicture 413': (t) => setAvatar(t, new Blob([new Uint8Array(5_242_881)])),
  'changeProfilePicture 415': noAvatar,
  'changeProfilePicture 422': async (t) => setAvatar(t, (await avatarFile()).slice(0, -40)),
  'changeProfilePicture 429': async (t, world) => {
    asOther(t, world);
    await noAvatar(t, world);
  },
  'changePassword 200': (t, { other }) => {
    setToken(t, other.token);
    setBody(t, { currentPassword: other.password });
  },
  'changePassword 403': wrongPassword,
  'changePassword 429': (t, world) => {
    asOther(t, world);
    wrongPassword(t, world);
  },
  'deleteAccount 200': async (t, world) => setToken(t, (await world.signUp()).token),

  'register 201': (t, world) => setBody(t, world.newcomer()),
  'register 409': takenRegistration,
  'register 429': takenRegistration,
  'login 200': (t, { creator: { email, password } }) => setBody(t, { email, password }),
  'login 401': unknownAddress,
  'login 429': unknownAddress,
  'logout 200': async (t, world) => setToken(t, await world.logIn(world.creator)),
  'logout 400': (t) => setPath(t, 'everywhere=false', 'everywhere=perhaps'),

  'updateSpace 403': asOther,
  'deleteSpace 200': async (t, world) =>
    setPath(t, world.space.space_id, (await world.createSpace()).space_id),
  'deleteSpace 403': asOther,
  'joinSpace 200': asOther,
  'leaveSpace 200': asOther,
  'leaveSpace 409': asCreator,

  'sendMessage 403': (t, { elsewhere }) => setBody(t, { space_id: elsewhere.space_id }),
  'deleteMessage 200': async (t, world) =>
    setPath(t, world.message.message_id, (await world.sendMessage()).message_id),
  'deleteMessage 403': asOther,
  'appreciateMessage 200': asOther,
  'appreciateMessage 403': asCreator,
  'withdrawAppreciation 200': asOther,
};

/** Ids of what a world contains, by the names of their parameters. */
export const existing: Readonly<Record<string, (world: World) => string>> = {
  space_id: ({ space }) => space.space_id,
  message_id: ({ message }) => message.message_id,
  user_id: ({ creator }) => creator.userId,
};

/** Required parameters whose examples match what `openWorld` creates. */
export const literalParameters: readonly string[] = ['q', 'tag'];

/** Whether the changes, or the example request itself, provoke the answer. */
export function isProvoked({ id, operation, status }: Answer): boolean {
  if (Object.hasOwn(changes, id)) return true;
  const names = inputNamesOf(operation);
  const namesThing = names.some((name) => Object.hasOwn(existing, name));
  const takesJson = operation.bodyType === 'application/json';
  switch (status) {
    case '400':
      return takesJson || namesThing || names.includes('limit');
    case '404':
      return namesThing;
    case '413':
    case '415':
      return takesJson;
    case '429':
      return operation.isPublicRead;
    default:
      return ['200', '201', '401', '408', '431', '500', '503'].includes(status);
  }
}

/**
 * Returns a function that changes a transaction so that it provokes the expected answer.
 * @param leaveOut called for each answer that cannot be provoked
 */
export function prepareWith(
  { world, stages }: Servers,
  leaveOut: (answer: Answer, reason: string) => void,
): (transaction: Transaction) => Promise<void> {
  return async (transaction) => {
    const answer = answerTo(transaction);
    const { id, operation, status, schema } = answer;
    transaction.id = id;
    // By default, Dredd only checks the property names of the example.
    transaction.expected.bodySchema = schema;

    const stage = stages[status];
    const skip = (reason: string) => {
      transaction.skip = true;
      leaveOut(answer, reason);
    };
    if (status === '408') return skip('Dredd sends every request at once');
    if (!stage && (status === '500' || status === '503'))
      return skip('no request makes a sound server fail');
    if (!stage && status === '429' && isLimitShared(answer))
      return skip('reaching this limit would shut out others at the same address');

    if (stage) {
      const { hostname, port } = new URL(stage.url);
      Object.assign(transaction, { host: hostname, port });
    }
    const here = stage ?? world;
    nameThings(transaction, answer, here);
    if (operation.authentication !== 'none') setToken(transaction, here.creator.token);
    await (changes[id] ?? changesByStatus[status])?.(transaction, here);
    if (status === '429' && !(await reachLimit(transaction, here.url)) && !stage)
      return skip('the server has no limit of less than 200 requests');
  };
}

function answerTo({ request, expected, origin }: Transaction): Answer {
  const answer = answers.find(
    ({ operation: { method, path }, status, type }) =>
      method === request.method &&
      path === origin.resourceName &&
      status === expected.statusCode &&
      type === expected.headers['Content-Type'],
  );
  if (!answer) throw new Error(`The contract has no ${request.method} ${origin.resourceName}`);
  return answer;
}

/** Replaces example ids by existing, unknown or malformed ones, and requests pages of one item. */
function nameThings(transaction: Transaction, { status }: Answer, world: World): void {
  const { request } = transaction;
  const isPathWrong = status === '400' && request.body === '';
  for (const [name, idIn] of Object.entries(existing)) {
    const example = parameterExamples.get(name);
    if (example === undefined) throw new Error(`The contract has no parameter ${name}`);
    const id = status === '404' ? 'nothing' : isPathWrong ? '~' : idIn(world);
    setPath(transaction, example, id);
    request.body = request.body.toString().replace(example, id);
  }
  // Each list has two items and therefore a link to a next page.
  setPath(transaction, 'limit=20', isPathWrong ? 'limit=0' : 'limit=1');
}

/** Whether all callers with the same IP address share the operation's rate limit. */
function isLimitShared({ operation: { isPublicRead, operationId } }: Answer): boolean {
  return isPublicRead || operationId === 'register';
}

/** Sends a request until it gets 429, at most 200 times. Resolves to whether it did. */
async function reachLimit({ request, fullPath }: Transaction, url: string): Promise<boolean> {
  const { method, headers } = request;
  const body = request.body.length > 0 ? request.body : null;
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(new URL(fullPath, url), { method, headers, body });
    await response.arrayBuffer();
    if (response.status === 429) return true;
    if (!response.headers.has('ratelimit-limit')) return false;
  }
  return false;
}

function setPath(transaction: Transaction, part: string, replacement: string): void {
  transaction.fullPath = transaction.fullPath.replace(part, replacement);
}

function setHeader({ request }: Transaction, name: string, value: string): void {
  request.headers[name] = value;
}

function setToken(transaction: Transaction, token: string): void {
  setHeader(transaction, 'Authorization', `Bearer ${token}`);
}

/** Sets properties of the JSON body. */
function setBody({ request }: Transaction, fields: object): void {
  request.body = JSON.stringify({ ...JSON.parse(request.body.toString()), ...fields });
}

/** Sets a multipart body with the file, or without a file. */
async function setAvatar(transaction: Transaction, file?: Blob): Promise<void> {
  const form = new FormData();
  if (file) form.set('avatar', file, 'avatar.png');
  const encoded = new Response(form);
  setHeader(transaction, 'Content-Type', encoded.headers.get('content-type') ?? '');
  transaction.request.body = Buffer.from(await encoded.arrayBuffer());
}
