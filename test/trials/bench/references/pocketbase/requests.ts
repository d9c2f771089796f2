import { type Server, startServer } from '../../../../support/server.ts';
import { median } from '../../../../support/statistics.ts';
import { alternate } from '../../alternate.ts';
import { spaceOf } from '../../data.ts';
import { startLoadGenerator } from '../../load.ts';
import { printComparison } from '../../report.ts';
import { NO_QUOTAS } from '../../writing.ts';
import { call, installPocketBase, number, relation, text } from './program.ts';

// Not part of `npm run bench`, because PocketBase is not on npm. See ../../README.md for its installation.
const [program, rounds = '5'] = process.argv.slice(2);
/** Each has an account of its own and one connection. */
const CLIENTS = 8;
const SPACES = 400;
const MESSAGE = 'Does anybody know how long the second proof takes in a cold kitchen?';
const PASSWORD = 'bench bench bench';
const SETTINGS = { ...NO_QUOTAS, RATE_LIMITS: 'off' };
/** In seconds. */
const [WARM_UP, DURATION] = [2, 1.5];

const [USERS_ID, SPACES_ID] = ['_pb_users_auth_', 'spaces000000000'];
const created = { name: 'created', type: 'autodate', onCreate: true };
/** With the rules and indexes that correspond to this service's. */
const COLLECTIONS = [
  {
    id: SPACES_ID,
    name: 'spaces',
    type: 'base',
    listRule: '',
    viewRule: '',
    createRule: '@request.auth.id = creator',
    fields: [
      text('title'),
      text('description'),
      text('visibility'),
      relation('creator', USERS_ID),
      number('participant_count'),
      { name: 'tags', type: 'json' },
      created,
    ],
    indexes: ['CREATE INDEX spaces_by_participants ON spaces (participant_count)'],
  },
  {
    name: 'participations',
    type: 'base',
    createRule: '@request.auth.id = user',
    fields: [relation('space', SPACES_ID), relation('user', USERS_ID), created],
    indexes: ['CREATE UNIQUE INDEX participations_by_space ON participations (space, user)'],
  },
  {
    name: 'messages',
    type: 'base',
    listRule: '',
    createRule:
      '@request.auth.id = author && space.participations_via_space.user ?= @request.auth.id',
    fields: [relation('space', SPACES_ID), relation('author', USERS_ID), text('text'), created],
    indexes: ['CREATE INDEX messages_by_space ON messages (space, created)'],
  },
];

/** What the requests of a row need, on one of the servers. */
interface Side {
  url: string;
  headers: Record<string, string>[];
  requests: Record<'message' | 'creation' | 'space' | 'profile', Request[]>;
}

/** The request of a client. */
interface Request {
  path: string;
  body?: object;
}

await using pocketBase = await installPocketBase(program, COLLECTIONS);
await using _ = await pocketBase.serve();
await using service = await startServer(SETTINGS);
await using generator = await startLoadGenerator();
const [ours, theirs] = [await prepareService(service), await preparePocketBase()];

const rows = [];
for (const [name, kind] of [
  ['one space', 'space'],
  // Before the messages and creations, because it counts those of the account, and PocketBase's does not.
  ['own profile', 'profile'],
  ['send a message', 'message'],
  ['create a space', 'creation'],
] as const) {
  const send = ({ url, headers, requests }: Side) => {
    const bodies = requests[kind].flatMap(({ body }) => body ?? []);
    return generator.send({
      url,
      headers,
      paths: requests[kind].map(({ path }) => [path]),
      ...(bodies.length > 0 && { bodies }),
      mayRepeat: true,
      warmUp: WARM_UP,
      duration: DURATION,
    });
  };
  const pairs = await alternate(
    Number(rounds),
    () => send(ours),
    () => send(theirs),
  );
  const own = median(pairs.map(([result]) => result.requestsPerSecond));
  const reference = median(pairs.map(([, result]) => result.requestsPerSecond));
  rows.push({ name, values: [own, reference, own / reference] });
}
printComparison({
  id: 'pocketbase',
  title: `Requests per second, ${CLIENTS} clients at a time`,
  columns: ['this service', 'PocketBase', 'ratio'],
  rows,
});

async function prepareService({ url }: Server): Promise<Side> {
  const post = async (path: string, body: object, token = '', method = 'POST') => {
    const response = await fetch(`${url}/api/${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} returned ${response.status}.`);
    return response.json();
  };
  const tokens: string[] = [];
  for (let i = 0; i < CLIENTS; i += 1) {
    const account = { username: `bench${i}`, email: `bench${i}@example.org`, password: PASSWORD };
    const { access_token } = (await post('auth/register', account)) as { access_token: string };
    tokens.push(access_token);
  }
  const spaceIds: string[] = [];
  for (let i = 0; i < SPACES; i += 1) {
    const token = tokens[i % CLIENTS] as string;
    const { space_id } = (await post('spaces', creationOf(i), token)) as { space_id: string };
    spaceIds.push(space_id);
  }
  const [space] = spaceIds as [string];
  for (const token of tokens.slice(1)) await post(`participations/${space}`, {}, token, 'PUT');
  return {
    url,
    headers: tokens.map((token) => ({ authorization: `Bearer ${token}` })),
    requests: {
      message: tokens.map(() => ({
        path: '/api/messages',
        body: { space_id: space, text: MESSAGE },
      })),
      creation: tokens.map(() => ({ path: '/api/spaces', body: creationOf(SPACES) })),
      space: tokens.map((_, i) => ({ path: `/api/spaces/${spaceIds[i]}` })),
      profile: tokens.map(() => ({ path: '/api/profile/me' })),
    },
  };
}

async function preparePocketBase(): Promise<Side> {
  const users: { id: string; token: string }[] = [];
  for (let i = 0; i < CLIENTS; i += 1) {
    const account = { email: `bench${i}@example.org`, password: PASSWORD };
    await call('collections/users/records', { ...account, passwordConfirm: PASSWORD });
    const signedIn = await call('collections/users/auth-with-password', {
      identity: account.email,
      password: PASSWORD,
    });
    const { token, record } = signedIn as { token: string; record: { id: string } };
    users.push({ id: record.id, token });
  }
  const spaceIds: string[] = [];
  for (let i = 0; i < SPACES; i += 1) {
    const { id, token } = users[i % CLIENTS] as (typeof users)[number];
    const created = await call(
      'collections/spaces/records',
      { ...creationOf(i), participant_count: 1, creator: id },
      token,
    );
    spaceIds.push((created as { id: string }).id);
  }
  const [space] = spaceIds as [string];
  for (const { id, token } of users) {
    await call('collections/participations/records', { space, user: id }, token);
  }
  return {
    url: pocketBase.url,
    headers: users.map(({ token }) => ({ authorization: token })),
    requests: {
      message: users.map(({ id }) => ({
        path: '/api/collections/messages/records',
        body: { space, author: id, text: MESSAGE },
      })),
      creation: users.map(({ id }) => ({
        path: '/api/collections/spaces/records',
        body: { ...creationOf(SPACES), participant_count: 1, creator: id },
      })),
      space: users.map((_, i) => ({ path: `/api/collections/spaces/records/${spaceIds[i]}` })),
      profile: users.map(({ id }) => ({ path: `/api/collections/users/records/${id}` })),
    },
  };
}

function creationOf(number: number): object {
  const { title, description, tags } = spaceOf(number);
  return { title, description, visibility: 'public', tags };
}
