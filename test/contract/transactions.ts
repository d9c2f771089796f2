import { operations } from '../../server/contract.ts';
import type { Actors } from './actors.ts';

/** What Dredd is about to send, and what it expects, as far as it matters here. */
export interface Transaction {
  name: string;
  host: string;
  port: number | string;
  fullPath: string;
  /** Set, the transaction is not sent. */
  skip?: boolean;
  request: { method: string; headers: Record<string, string>; body: string; bodyEncoding?: string };
  expected: { statusCode: string };
  origin: { resourceName: string };
  /** The answer, once there is one. */
  real?: { body?: string };
}

/** What is changed of the request that the contract's examples make, for a certain answer. */
export interface Change {
  /** Another server than the one under test. */
  server?: string;
  path?: string;
  token?: string | null;
  type?: string;
  /** Text, or an object to be sent as JSON. */
  body?: string | object | null;
  file?: { bytes: Buffer; part?: string };
}

type Provocation = (actors: Actors) => Change | Promise<Change>;

/** Why a status is not asked for. Everything else that the contract declares must be provoked below. */
export function reasonToLeaveOut(status: string, isForeignServer: boolean): string | undefined {
  if (status === '500') return 'a fault of the server, which no request should be able to provoke';
  if (status === '503')
    return 'overload or an unreachable database, which one request cannot provoke';
  if (status === '408') return 'Dredd sends whole requests only';
  if (status === '429' && isForeignServer)
    return 'limits of somebody else’s server are not to be used up';
  return undefined;
}

/** Makes a transaction's request such that the server must answer with the status that is expected. */
export async function provoke(transaction: Transaction, actors: Actors): Promise<void> {
  const { request, expected, origin } = transaction;
  const operation = operations.find(
    ({ method, path }) => method === request.method && path === origin.resourceName,
  );
  if (!operation) throw new Error(`The contract has no operation for ${transaction.name}.`);
  const { operationId, bodyType, authentication } = operation;
  const provocation =
    provocations[operationId]?.[expected.statusCode] ?? common[expected.statusCode];
  if (!provocation) throw new Error(`Nothing here provokes ${operationId} ${expected.statusCode}.`);

  const usual = (await provocations[operationId]?.usual?.(actors)) ?? {};
  const change = { ...usual, ...(await provocation(actors)) };
  if (change.server !== undefined) {
    const { hostname, port } = new URL(change.server);
    transaction.host = hostname;
    transaction.port = port;
  }
  if (change.path !== undefined) transaction.fullPath = change.path;
  const token =
    change.token === undefined && authentication !== 'none' ? actors.owner.token : change.token;
  if (token) request.headers.Authorization = `Bearer ${token}`;
  if (bodyType !== null && change.type !== undefined) request.headers['Content-Type'] = change.type;
  if (change.file) attach(request, change.file);
  else if (change.body === null) request.body = '';
  else if (change.body !== undefined) {
    request.body = typeof change.body === 'string' ? change.body : JSON.stringify(change.body);
  }
}

const accepted: Provocation = () => ({});

/** What provokes a status wherever an operation has nothing of its own for it. */
const common: Record<string, Provocation> = {
  200: accepted,
  201: accepted,
  400: () => ({ body: '{' }),
  401: () => ({ token: null }),
  413: () => ({ body: { padding: 'x'.repeat(20_000) } }),
  415: () => ({ type: 'text/plain', body: 'text' }),
};

const badLimit = (path: string) => () => ({
  path: `${path}${path.includes('?') ? '&' : '?'}limit=0`,
});
const badToken = () => ({ token: 'sps_nobody' });
const nothing = '00000000-0000-4000-8000-000000000000';

/** By operation: what its usual request is here, and what provokes its own statuses. */
const provocations: Record<string, Record<string, Provocation>> = {
  // Dredd takes every header that an answer may have for one that it must have, so lists are asked for a page
  // that another one follows.
  searchSpaces: {
    200: () => ({ path: '/api/spaces/search?q=contract%20run&limit=1' }),
    400: badLimit('/api/spaces/search?q=bread'),
    429: (actors) => actors.exhaust('publicRead'),
  },
  searchSpacesByTag: {
    200: () => ({ path: '/api/spaces/tag/contract-run?limit=1' }),
    400: badLimit('/api/spaces/tag/baking'),
    404: () => ({ path: '/api/spaces/tag/' }),
    429: (actors) => actors.exhaust('publicRead'),
  },
  changeUsername: {
    200: (actors) => ({ body: { username: actors.newName() } }),
    409: ({ other }) => ({ body: { username: other.username } }),
    429: (actors) => actors.exhaust('username'),
  },
  changeProfilePicture: {
    usual: async ({ picture }) => ({ file: { bytes: picture } }),
    400: ({ picture }) => ({ file: { bytes: picture, part: 'portrait' } }),
    413: () => ({ file: { bytes: Buffer.alloc(5_242_881) } }),
    415: () => ({ file: { bytes: Buffer.from('a text, and no picture') } }),
    422: ({ picture }) => ({ file: { bytes: picture.subarray(0, picture.length / 2) } }),
    429: (actors) => actors.exhaust('picture'),
  },
  changePassword: {
    200: async (actors) => {
      const { token, password } = await actors.newcomer();
      return { token, body: { currentPassword: password, newPassword: `${password} too` } };
    },
    403: () => ({
      body: { currentPassword: 'wrong all along', newPassword: 'staple of the north wind' },
    }),
    429: (actors) => actors.exhaust('password'),
  },
  deleteAccount: { 200: async (actors) => ({ token: (await actors.newcomer()).token }) },
  register: {
    201: (actors) => {
      const username = actors.newName();
      return {
        body: { username, email: `${username}@example.com`, password: 'correct horse battery' },
      };
    },
    409: ({ other }) => ({
      body: { username: other.username, email: other.email, password: 'correct horse battery' },
    }),
    429: (actors) => actors.exhaust('register'),
  },
  login: {
    usual: ({ other: { email, password } }) => ({ body: { email, password } }),
    401: ({ other: { email } }) => ({ body: { email, password: 'wrong all along' } }),
    429: (actors) => actors.exhaust('login'),
  },
  logout: {
    200: async (actors) => ({ token: (await actors.newcomer()).token }),
    400: () => ({ path: '/api/auth/logout?everywhere=perhaps' }),
  },
  getSpace: {
    usual: ({ space }) => ({ path: `/api/spaces/${space}` }),
    400: () => ({ path: '/api/spaces/no%20id' }),
    401: badToken,
    404: () => ({ path: `/api/spaces/${nothing}` }),
    429: (actors) => actors.exhaust('publicRead'),
  },
  updateSpace: {
    usual: ({ space }) => ({ path: `/api/spaces/${space}` }),
    403: ({ othersSpace }) => ({ path: `/api/spaces/${othersSpace}` }),
    404: () => ({ path: `/api/spaces/${nothing}` }),
  },
  deleteSpace: {
    usual: async (actors) => ({ path: `/api/spaces/${await actors.newSpace()}` }),
    400: () => ({ path: '/api/spaces/no%20id' }),
    403: ({ othersSpace }) => ({ path: `/api/spaces/${othersSpace}` }),
    404: () => ({ path: `/api/spaces/${nothing}` }),
  },
  listParticipations: {
    200: () => ({ path: '/api/participations?limit=1' }),
    400: badLimit('/api/participations'),
  },
  joinSpace: {
    usual: ({ joinedSpace }) => ({ path: `/api/participations/${joinedSpace}` }),
    404: () => ({ path: `/api/participations/${nothing}` }),
  },
  leaveSpace: {
    usual: ({ joinedSpace }) => ({ path: `/api/participations/${joinedSpace}` }),
    400: () => ({ path: '/api/participations/no%20id' }),
    404: () => ({ path: `/api/participations/${nothing}` }),
    409: ({ space }) => ({ path: `/api/participations/${space}` }),
  },
  listMessages: {
    usual: ({ space }) => ({ path: `/api/messages?space_id=${space}&limit=1` }),
    400: ({ space }) => badLimit(`/api/messages?space_id=${space}`)(),
    401: badToken,
    404: () => ({ path: `/api/messages?space_id=${nothing}` }),
    429: (actors) => actors.exhaust('publicRead'),
  },
  sendMessage: {
    201: ({ space }) => ({ body: { space_id: space, text: 'Is 80 % hydration too much?' } }),
    403: ({ othersSpace }) => ({ body: { space_id: othersSpace, text: 'Hello' } }),
    404: () => ({ body: { space_id: nothing, text: 'Hello' } }),
  },
  deleteMessage: {
    usual: async (actors) => ({ path: `/api/messages/${await actors.newMessage()}` }),
    400: () => ({ path: '/api/messages/no%20id' }),
    403: ({ othersMessage }) => ({ path: `/api/messages/${othersMessage}` }),
    404: () => ({ path: `/api/messages/${nothing}` }),
  },
  appreciateMessage: {
    usual: ({ othersMessage }) => ({ path: `/api/messages/${othersMessage}/appreciation` }),
    400: () => ({ path: '/api/messages/no%20id/appreciation' }),
    403: ({ message }) => ({ path: `/api/messages/${message}/appreciation` }),
    404: () => ({ path: `/api/messages/${nothing}/appreciation` }),
  },
  withdrawAppreciation: {
    usual: ({ othersMessage }) => ({ path: `/api/messages/${othersMessage}/appreciation` }),
    400: () => ({ path: '/api/messages/no%20id/appreciation' }),
    404: () => ({ path: `/api/messages/${nothing}/appreciation` }),
  },
  getUser: {
    usual: ({ other }) => ({ path: `/api/users/${other.userId}` }),
    400: () => ({ path: '/api/users/no%20id' }),
    404: () => ({ path: `/api/users/${nothing}` }),
  },
};

/** Makes the body a multipart form with one file: the parser of the contract cannot. */
function attach(
  request: Transaction['request'],
  { bytes, part = 'avatar' }: { bytes: Buffer; part?: string },
): void {
  const boundary = 'contract-run-boundary';
  request.headers['Content-Type'] = `multipart/form-data; boundary=${boundary}`;
  request.bodyEncoding = 'base64';
  request.body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${part}"; filename="picture.jpg"\r\n` +
        'Content-Type: image/jpeg\r\n\r\n',
    ),
    bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]).toString('base64');
}
