import { type Credentials, newUsername } from './accounts.ts';
import type { Transaction } from './dredd.ts';
import type { World } from './world.ts';

/** A PNG of 8 x 8 pixels. */
const avatar = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEElEQVQI12NgaGjAjoaWBADiMEABk634GAAAAABJRU5ErkJggg==',
  'base64',
);

/** Changes a request built from the contract's examples so that it provokes one response. */
type Change = (transaction: Transaction, world: World) => unknown;

/** Changes by status, for the responses that are not in `changes`. */
export const changesByStatus: Record<string, Change> = {
  400: (t) => t.request.body && setBody(t, { unknown: true }),
  401: (t) => setToken(t, 'unknown'),
  413: (t) => setBody(t, { padding: 'x'.repeat(32_768) }),
  415: (t) => setHeader(t, 'Content-Type', 'text/plain'),
  431: (t) => setHeader(t, 'X-Padding', 'x'.repeat(16_384)),
};

/** Replaces the ids in the path, query and body of each request for a 404. */
export const UNKNOWN_ID = 'nothing';

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
const takenRegistration: Change = (t, world) =>
  setBody(t, { ...world.newRegistration(), username: world.other.username });
const unsupportedAvatar: Change = (t) => setAvatar(t, new Blob(['This is not an image.']));

/**
 * Changes by the id of the declared response. For 429, the request must count against the limit.
 */
export const changes: Record<string, Change> = {
  // The response must have Answered-Query. No space matches the query with its stop word, `what`, so the results of the
  // query without it follow.
  'searchSpaces 200': (t, { word }) => replaceInPath(t, /q=[^&]+/, `q=what%20${word}`),
  'searchSpacesByTag 404': (t) => replaceInPath(t, '/tag/baking', '/tag/'),

  'changeUsername 200': (t) => setBody(t, { username: newUsername() }),
  'changeUsername 409': takenUsername,
  // `other` sends its own username. The request changes nothing, but counts.
  'changeUsername 429': (t, world) => {
    asOther(t, world);
    takenUsername(t, world);
  },
  // Not as `creator`: restoring the bio of an existing account would then get 429.
  'changeBio 429': asOther,
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
  // Not of `creator`, because an existing account would keep the session.
  'login 200': async (t, world) => setCredentials(t, await world.register()),
  'login 403': (t, { creator }) => setCredentials(t, creator),
  'login 401': unknownAddress,
  'login 429': unknownAddress,
  'logout 200': async (t, world) => setToken(t, await world.logIn(world.creator)),
  'logout 400': (t) => replaceInPath(t, 'everywhere=false', 'everywhere=perhaps'),
  'endSession 200': async (t, world) =>
    replaceInPath(t, world.sessionId, await world.openSession()),

  'createSpace 409': asCreator,
  // Not as `creator`, because an existing account would keep the spaces beyond its first page of participations.
  'createSpace 429': asOther,
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

/**
 * Reads the items of a list, by the id of its response. Throws MissingOperation if they could not be created. Without
 * this, the check would run and fail, because the request for a list names none of its items.
 */
export const requiredItems: Record<string, (world: World) => unknown> = {
  'listSpaces 200': ({ space }) => space,
  'searchSpaces 200': ({ space }) => space,
  'searchSpacesByTag 200': ({ space }) => space,
  'listParticipations 200': ({ space }) => space,
  'listParticipants 200': ({ participant }) => participant,
  'listRemovals 200': ({ removed }) => removed,
  'listSessions 200': ({ sessionId }) => sessionId,
};

/** Replaces a part of the path and query. */
export function replaceInPath(
  transaction: Transaction,
  part: string | RegExp,
  replacement: string,
): void {
  transaction.fullPath = transaction.fullPath.replace(part, replacement);
}

function setHeader({ request }: Transaction, name: string, value: string): void {
  request.headers[name] = value;
}

export function setToken(transaction: Transaction, token: string): void {
  setHeader(transaction, 'Authorization', `Bearer ${token}`);
}

/** Sets properties of the JSON body. */
function setBody({ request }: Transaction, fields: object): void {
  request.body = JSON.stringify({ ...JSON.parse(request.body.toString()), ...fields });
}

function setCredentials(transaction: Transaction, { email, password }: Credentials): void {
  setBody(transaction, { email, password });
}

/** Sets a multipart body with the file, or without a file. */
async function setAvatar(transaction: Transaction, file?: Blob): Promise<void> {
  const form = new FormData();
  if (file) form.set('avatar', file, 'avatar.png');
  const encoded = new Response(form);
  setHeader(transaction, 'Content-Type', encoded.headers.get('content-type') ?? '');
  transaction.request.body = Buffer.from(await encoded.arrayBuffer());
}
