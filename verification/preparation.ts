import { newUsername } from './accounts.ts';
import {
  type DeclaredResponse,
  declaredResponses,
  parameterExamples,
} from './declared-responses.ts';
import type { Transaction } from './dredd.ts';
import { REQUEST_TIMEOUT_MS } from './exchange.ts';
import type { Servers } from './verify.ts';
import type { World } from './world.ts';

/** A PNG of 8 x 8 pixels. */
const avatar = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEElEQVQI12NgaGjAjoaWBADiMEABk634GAAAAABJRU5ErkJggg==',
  'base64',
);

/** Maximum number of requests to reach a rate limit. */
const MAX_REQUESTS_TO_LIMIT = 200;

/** Changes a request built from the contract's examples so that it provokes one response. */
type Change = (transaction: Transaction, world: World) => unknown;

const changesByStatus: Record<string, Change> = {
  400: (t) => t.request.body && setBody(t, { unknown: true }),
  401: (t) => setToken(t, 'unknown'),
  413: (t) => setBody(t, { padding: 'x'.repeat(32_768) }),
  415: (t) => setHeader(t, 'Content-Type', 'text/plain'),
  431: (t) => replaceInPath(t, '?', `?${'x'.repeat(16_384)}=&`),
};

/** Replaces every id in a path whose response is 404. */
const UNKNOWN_ID = 'nothing';

/** `creator` sends the requests by default. */
const asCreator: Change = () => {};
const asOther: Change = (t, { other }) => setToken(t, other.token);
const inPrivateSpace: Change = (t, { space, privateSpace }) =>
  replaceInPath(t, space.space_id, privateSpace.space_id);
const takenUsername: Change = (t, { other }) => setBody(t, { username: other.username });
const wrongPassword: Change = (t) => setBody(t, { currentPassword: 'not the right one' });
const unknownAddress: Change = (t) => setBody(t, { email: `${newUsername()}@example.com` });
const asFrequentReporter: Change = async (t, world) =>
  setToken(t, (await world.registerFrequentReporter()).token);
const withCredentials: Change = (t, { creator: { email, password } }) =>
  setBody(t, { email, password });
const takenRegistration: Change = (t, world) =>
  setBody(t, { ...world.newRegistration(), username: world.other.username });
const unsupportedAvatar: Change = (t) => setAvatar(t, new Blob(['This is not an image.']));

/**
 * Changes by the id of the declared response. They take precedence over the changes by status. For 429, the request
 * must count against the limit.
 */
const changes: Record<string, Change> = {
  // The other query has no stop word, and the response returns it in Answered-Query.
  'searchSpaces 200': (t) => replaceInPath(t, 'q=sourdough', 'q=what%20sourdough'),
  'searchSpacesByTag 404': (t) => replaceInPath(t, '/tag/baking', '/tag/'),

  'changeUsername 200': (t) => setBody(t, { username: newUsername() }),
  'changeUsername 409': takenUsername,
  'changeUsername 429': (t, world) => {
    asOther(t, world);
    takenUsername(t, world);
  },
  'changeBio 429': asCreator,
  'changeProfilePicture 200': (t) => setAvatar(t, new Blob([avatar])),
  'changeProfilePicture 400': (t) => setAvatar(t),
  'changeProfilePicture 413': (t) => setAvatar(t, new Blob([new Uint8Array(5_242_881)])),
  'changeProfilePicture 415': unsupportedAvatar,
  'changeProfilePicture 422': (t) => setAvatar(t, new Blob([avatar.subarray(0, -40)])),
  'changeProfilePicture 429': async (t, world) => {
    asOther(t, world);
    await unsupportedAvatar(t, world);
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
  'deleteAccount 200': async (t, world) => setToken(t, (await world.register()).token),

  'register 201': (t, world) => setBody(t, world.newRegistration()),
  'register 403': (t, world) => setBody(t, world.newRegistration()),
  'register 409': takenRegistration,
  'register 429': takenRegistration,
  'login 200': withCredentials,
  'login 403': withCredentials,
  'login 401': unknownAddress,
  'login 429': unknownAddress,
  'logout 200': async (t, world) => setToken(t, await world.logIn(world.creator)),
  'logout 400': (t) => replaceInPath(t, 'everywhere=false', 'everywhere=perhaps'),
  'endSession 200': async (t, world) =>
    replaceInPath(t, world.sessionId, await world.openSession()),

  'createSpace 409': asCreator,
  'createSpace 429': asCreator,
  'updateSpace 403': asOther,
  'updateSpace 409': (t, world) => {
    inPrivateSpace(t, world);
    setBody(t, { visibility: 'public' });
  },
  'updateSpace 429': asCreator,
  'deleteSpace 200': async (t, world) =>
    replaceInPath(t, world.space.space_id, (await world.createSpace()).space_id),
  'deleteSpace 403': asOther,
  'renewInvitationCode 200': inPrivateSpace,
  'renewInvitationCode 403': asOther,
  'renewInvitationCode 409': asCreator,
  'renewInvitationCode 429': inPrivateSpace,
  'joinSpace 200': asOther,
  'joinSpace 403': (t, { removed }) => setToken(t, removed.token),
  'joinSpace 409': (t, { space, otherSpace }) =>
    replaceInPath(t, space.space_id, otherSpace.space_id),
  'joinSpace 429': asCreator,
  'leaveSpace 200': asOther,
  'leaveSpace 409': asCreator,
  'listRemovals 403': asOther,
  // Has no effect, because the user has already been removed.
  'removeParticipant 200': (t, { creator, removed }) =>
    replaceInPath(t, creator.userId, removed.userId),
  'removeParticipant 403': asOther,
  'removeParticipant 404': (t, { space }) => replaceInPath(t, UNKNOWN_ID, space.space_id),
  'removeParticipant 409': asCreator,
  'removeParticipant 429': (t, { creator, removed }) =>
    replaceInPath(t, creator.userId, removed.userId),
  'undoRemoval 403': asOther,

  'sendMessage 429': asCreator,
  'sendMessage 403': (t, { otherSpace }) => setBody(t, { space_id: otherSpace.space_id }),
  'deleteMessage 200': async (t, world) =>
    replaceInPath(t, world.message.message_id, (await world.sendMessage()).message_id),
  'deleteMessage 403': asOther,
  'appreciateMessage 200': asOther,
  'appreciateMessage 403': asCreator,
  'appreciateMessage 429': asOther,
  'withdrawAppreciation 200': asOther,

  'reportSpace 409': asFrequentReporter,
  'reportSpace 429': asCreator,
  'reportMessage 409': asFrequentReporter,
  'reportMessage 429': asCreator,
};

/** Items of lists that the responses contain, although the requests do not name them. */
const requiredItems: Record<string, (world: World) => unknown> = {
  'searchSpaces 200': ({ space }) => space,
  'searchSpacesByTag 200': ({ space }) => space,
  'listParticipations 200': ({ space }) => space,
  'listParticipants 200': ({ participant }) => participant,
  'listRemovals 200': ({ removed }) => removed,
  'listSessions 200': ({ sessionId }) => sessionId,
};

/** Responses that only a server with low quotas returns. */
const EXCEEDS_QUOTA = ['createSpace 409', 'joinSpace 409'];

/** Existing ids in a world, by the name of their parameter. */
export const existingIds: Readonly<Record<string, (world: World) => string>> = {
  space_id: ({ space }) => space.space_id,
  message_id: ({ message }) => message.message_id,
  user_id: ({ creator }) => creator.userId,
  session_id: ({ sessionId }) => sessionId,
};

/** Required parameters whose examples match the data of `openWorld` as they are. */
export const literalParameters: readonly string[] = ['q', 'tag'];

/** Returns whether the changes, or the example request itself, provoke the response. */
export function isProvoked({ id, operation, status }: DeclaredResponse): boolean {
  if (Object.hasOwn(changes, id)) return true;
  const { inputNames, takesJson, isPublicRead } = operation;
  const hasIds = inputNames.some((name) => Object.hasOwn(existingIds, name));
  switch (status) {
    case '400':
      return takesJson || hasIds || inputNames.includes('limit');
    case '404':
      return hasIds;
    case '413':
    case '415':
      return takesJson;
    case '429':
      return isPublicRead;
    default:
      return ['200', '201', '401', '408', '431', '500', '503'].includes(status);
  }
}

/**
 * Returns a function that changes a transaction so that it provokes the expected response.
 * @param onSkip called for each response that cannot be provoked
 * @param isSelected returns whether to send the requests of an operation
 */
export function prepareWith(
  { world, specialWorlds }: Servers,
  onSkip: (response: DeclaredResponse, reason: string) => void,
  isSelected: (operationId: string) => boolean = () => true,
): (transaction: Transaction) => Promise<void> {
  return async (transaction) => {
    const response = findDeclaredResponse(transaction);
    const { id, operation, status, schema } = response;
    transaction.id = id;
    if (!isSelected(operation.operationId)) {
      transaction.skip = true;
      return;
    }
    // By default, Dredd only checks the property names of the example.
    transaction.expected.bodySchema = schema;

    const special = specialWorlds[id] ?? specialWorlds[status];
    const skip = (reason: string) => {
      transaction.skip = true;
      onSkip(response, reason);
    };
    if (status === '408') return skip('Dredd cannot send a request slowly');
    if (!special && (id === 'login 403' || id === 'register 403')) {
      return skip('only the operator can suspend an account or close registration');
    }
    if (!special && (status === '500' || status === '503')) {
      return skip('a request cannot make a working server fail');
    }
    if (!special && EXCEEDS_QUOTA.includes(id)) {
      return skip('using up this quota takes too many requests');
    }
    if (!special && status === '429' && isLimitShared(response)) {
      return skip('reaching this limit would block other users at the same IP address');
    }

    if (special) {
      const { hostname, port } = new URL(special.url);
      Object.assign(transaction, { host: hostname, port });
    }
    const target = special ?? world;
    replaceIds(transaction, response, target);
    requiredItems[id]?.(target);
    // The request for a 401 gets another token, so it needs no account.
    if (operation.acceptsToken && status !== '401') setToken(transaction, target.creator.token);
    await (changes[id] ?? changesByStatus[status])?.(transaction, target);
    const isQuotaLow = special !== undefined;
    if (status === '429' && !(await reachLimit(transaction, target.url, isQuotaLow)) && !special) {
      return skip(`the server has no limit of less than ${MAX_REQUESTS_TO_LIMIT} requests`);
    }
  };
}

function findDeclaredResponse({ request, expected, origin }: Transaction): DeclaredResponse {
  const response = declaredResponses.find(
    ({ operation: { method, path }, status, type }) =>
      method === request.method &&
      path === origin.resourceName &&
      status === expected.statusCode &&
      type === expected.headers['Content-Type'],
  );
  if (!response) throw new Error(`The contract has no ${request.method} ${origin.resourceName}`);
  return response;
}

/**
 * Replaces example ids with existing, unknown or malformed ones, depending on the status. Sets `limit` to 1, or to 0
 * for a 400.
 */
function replaceIds(transaction: Transaction, { status }: DeclaredResponse, world: World): void {
  const { request } = transaction;
  const isPathInvalid = status === '400' && request.body === '';
  for (const [name, idIn] of Object.entries(existingIds)) {
    const example = parameterExamples.get(name);
    if (example === undefined) throw new Error(`The contract has no parameter ${name}`);
    const body = request.body.toString();
    // Creating the data of other ids may have failed.
    if (!transaction.fullPath.includes(example) && !body.includes(example)) continue;
    const id = status === '404' ? UNKNOWN_ID : isPathInvalid ? '~' : idIn(world);
    replaceInPath(transaction, example, id);
    request.body = body.replace(example, id);
  }
  // Each list has two items and therefore a link to a next page.
  replaceInPath(transaction, 'limit=20', isPathInvalid ? 'limit=0' : 'limit=1');
}

/** Returns whether all callers with the same IP address share the operation's rate limit. */
function isLimitShared({ operation: { isPublicRead, operationId } }: DeclaredResponse): boolean {
  return isPublicRead || operationId === 'register';
}

/**
 * Repeats a request until it gets 429. Resolves to whether it did.
 * @param isQuotaLow whether to repeat requests without RateLimit headers, too, because quotas of accounts have none
 */
async function reachLimit(
  { request, fullPath }: Transaction,
  url: string,
  isQuotaLow: boolean,
): Promise<boolean> {
  const { method, headers } = request;
  const body = request.body.length > 0 ? request.body : null;
  for (let i = 0; i < MAX_REQUESTS_TO_LIMIT; i += 1) {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const response = await fetch(new URL(fullPath, url), { method, headers, body, signal });
    await response.arrayBuffer();
    if (response.status === 429) return true;
    if (!isQuotaLow && !response.headers.has('ratelimit-limit')) return false;
  }
  return false;
}

/** Replaces a part of the path and query. */
function replaceInPath(transaction: Transaction, part: string, replacement: string): void {
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
