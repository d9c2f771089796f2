import { randomBytes } from 'node:crypto';
import { type Client, createClient, createConfig } from '../generated/client/index.ts';
import * as api from '../generated/sdk.gen.ts';
import type {
  CreatedToken,
  Message,
  Registration,
  Space,
  SpaceCreation,
  TokenCreation,
  Visibility,
} from '../generated/types.gen.ts';
import {
  type Account,
  type CreateClient,
  type Credentials,
  type ExistingAccount,
  endSessions,
  logIn,
  TemporaryAccounts,
  useExistingAccount,
} from './accounts.ts';
import { dataOf, FailedOperation, operationOf, REQUEST_TIMEOUT_MS } from './exchange.ts';
import { secondsToWait, waitFor } from './waiting.ts';

/**
 * Temporary accounts on a server, with the data that provokes the declared responses. If an operation
 * that creates some of the data fails, reading the property of this data throws FailedOperation.
 */
export interface World {
  url: string;
  /** Sends a request. Rejects if there is no response in time, or once the check is interrupted. */
  fetch: typeof fetch;
  /** The creator of `space`, of a second space like it, of `message`, and of a second message in `space`. */
  creator: Account;
  space: Space;
  /** A word in the description of every space of this world. No other space contains it. */
  word: string;
  message: Message;
  /** A user who appreciates `message`, as another one does. */
  admirer: Account;
  /**
   * The creator of `otherSpace`, at first not a participant of `space`. Requests of the check make this user join and
   * leave `space`, so no list may depend on that participation.
   */
  other: Account;
  otherSpace: Space;
  /** A private space of `creator`, in which `other` has written a message. */
  privateSpace: Space;
  /** A participant in `space`, besides `creator`. */
  participant: Account;
  /** A user whom `creator` has removed from `space`. */
  removed: Account;
  /** A user whom `creator` has blocked, besides another one. */
  blocked: Account;
  /** A message of `participant` in `space`. `admirer` and another user have reported it. */
  reported: Message;
  /** Whether the server sends mail. */
  sendsMail: boolean;
  /** Resolves to the token in a mail to an address. `view` is that of the link. Absent if the check receives no mail. */
  receiveToken?(address: string, view: string): Promise<string>;
  /** The access token of a program of `other` with the only scope moderate, and its id. `other` has another one. */
  programToken: CreatedToken;
  /** A session of `creator`, besides the one with the access token. */
  sessionId: string;
  /** Returns a client that sends the access token, if any. */
  client(token?: string): Client;
  /** Registers an account. `close` deletes it. */
  register(): Promise<Account>;
  /** Returns data for a registration by a later request. `close` deletes the account. */
  newRegistration(): Registration;
  /** Makes `close` delete an account that a request under test has registered. */
  adopt(registration: Registration, token: string): void;
  /** Opens a session. Resolves to its access token. `close` ends it. */
  logIn(credentials: Credentials): Promise<string>;
  /** Opens a session of `creator`. Resolves to its id. */
  openSession(): Promise<string>;
  /** Creates an access token of a program of `other`, with the scope moderate. */
  createToken(): Promise<CreatedToken>;
  /** Registers an account that has as many open reports as possible. */
  registerFrequentReporter(): Promise<Account>;
  /** Creates a space as `creator`. */
  createSpace(): Promise<Space>;
  /** Sends a message to `space` as `creator`. */
  sendMessage(): Promise<Message>;
  /**
   * Deletes the temporary accounts with everything they created, and restores an existing account, even after an
   * interruption. A failed step does not prevent the others.
   * @throws CleanupError if something remains
   */
  close(): Promise<void>;
}

/** Existing ids in a world, by the name of their parameter. */
export const existingIds: Readonly<Record<string, (world: World) => string>> = {
  space_id: ({ space }) => space.space_id,
  message_id: ({ message }) => message.message_id,
  user_id: ({ creator }) => creator.userId,
  session_id: ({ sessionId }) => sessionId,
  token_id: ({ programToken }) => programToken.token_id,
};

/** Existing items of lists in a world, by the name of their schema. All other lists have the spaces or their tags. */
export const existingItems: Readonly<Record<string, (world: World) => unknown>> = {
  Participant: ({ participant }) => participant,
  // Their names begin like the contract's example.
  UserSummary: ({ participant, privateSpace }) => [participant, privateSpace],
  Removal: ({ removed }) => removed,
  SpaceReport: ({ reported }) => reported,
  Block: ({ blocked }) => blocked,
  SessionSummary: ({ sessionId }) => sessionId,
  TokenSummary: ({ programToken }) => programToken,
  Message: ({ message }) => message,
  Appreciation: ({ admirer }) => admirer,
};

/** The servers that receive the requests, each with its test data. */
export interface Servers {
  /** The server under test. */
  world: World;
  /**
   * For responses that the server under test does not return: other servers or accounts, by id of the response or by
   * status.
   */
  specialWorlds: Partial<Record<string, World>>;
}

/** Lists everything that the check leaves on the server, and how to remove it. */
export class CleanupError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** As in the description of `reportMessage`. */
const MAX_OPEN_REPORTS = 20;

/** Matches the search queries in the contract's examples. */
const SPACE: SpaceCreation = {
  title: 'Sourdough bread',
  description: 'Created by the contract check, which deletes it at the end.',
  visibility: 'public',
  tags: ['baking', 'sourdough', 'sour cherries'],
};

/**
 * Creates the test data on a server. Deletes it if that fails.
 * @param interruption prevents further requests, except those of `close`
 * @throws UnexpectedResponse if a request gets no response
 */
export async function openWorld(
  url: string,
  credentials?: Credentials,
  interruption?: AbortSignal,
): Promise<World> {
  let isClosing = false;
  const fetchInTime: typeof fetch = async (input, init) => {
    // A request in progress continues, because its response shows what to delete.
    if (!isClosing) interruption?.throwIfAborted();
    const request = new Request(input, init);
    // While Dredd loads, this process can miss that the server has closed an idle connection.
    request.headers.set('connection', 'close');
    return fetch(request, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  };
  /** Repeats a request that a rate limit has refused. */
  const fetchPatiently: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    for (let waits = 0; ; waits += 1) {
      const response = await fetchInTime(request.clone());
      const seconds = secondsToWait(response, waits);
      if (seconds === undefined) return response;
      await waitFor(operationOf(request), seconds, isClosing ? undefined : interruption);
    }
  };
  const client: CreateClient = (token = '') =>
    createClient(createConfig({ baseUrl: url, auth: token, fetch: fetchPatiently }));
  const accounts = new TemporaryAccounts(client);
  let existing: ExistingAccount | undefined;
  /** The access tokens of sessions that an existing account must not keep. */
  const openedTokens: string[] = [];

  // `provide` adds the data.
  const world = {
    url,
    fetch: fetchInTime,
    word: `contract${randomBytes(6).toString('hex')}`,
    client,
    register: () => accounts.register(),
    newRegistration: () => accounts.newRegistration(),
    adopt: (registration, token) => accounts.adopt(registration, token),
    async logIn(credentials) {
      const token = await logIn(client, credentials);
      openedTokens.push(token);
      return token;
    },
    openSession: () => openSession(world),
    createToken: () => createToken(world),
    registerFrequentReporter: () => registerFrequentReporter(world),
    createSpace: () => createSpace(world, world.creator),
    sendMessage: () => sendMessage(world, world.creator, world.space),
    async close() {
      isClosing = true;
      const problems = (await existing?.restore()) ?? [];
      // Last, because the restoration needs a session.
      if (credentials) problems.push(...(await endSessions(client, credentials, openedTokens)));
      const remaining = await accounts.deleteAll();
      if (remaining.length > 0) {
        problems.push(
          `These accounts could not be deleted from ${url}: ${remaining.join(', ')}. The operator of the server can delete them.`,
        );
      }
      if (problems.length > 0) throw new CleanupError(problems);
    },
  } as World;

  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => world.close());
  await provide(world, 'creator', async () => {
    if (!credentials) return world.register();
    existing = await useExistingAccount(client, credentials, await world.logIn(credentials));
    return existing.account;
  });
  await provide(world, 'sendsMail', async () => {
    const { sends_mail } = await dataOf(api.getServer({ client: client() }));
    return sends_mail;
  });
  await provide(world, 'other', world.register);
  // Each list gets two items, so that its first page links to the next one.
  await provide(world, 'space', async () => {
    await world.createSpace();
    return world.createSpace();
  });
  await provide(world, 'message', async () => {
    await world.sendMessage();
    return world.sendMessage();
  });
  await provide(world, 'admirer', async () => {
    await registerAdmirer(world);
    return registerAdmirer(world);
  });
  await provide(world, 'participant', async () => {
    const account = await world.register();
    await joinSpace(world, account, world.space);
    return account;
  });
  await provide(world, 'removed', async () => {
    await registerRemovedUser(world);
    return registerRemovedUser(world);
  });
  await provide(world, 'blocked', async () => {
    const { creator, admirer, removed } = world;
    for (const { userId: user_id } of [admirer, removed]) {
      await dataOf(api.blockUser({ client: client(creator.token), path: { user_id } }));
    }
    return removed;
  });
  await provide(world, 'reported', async () => {
    const message = await sendMessage(world, world.participant, world.space);
    const path = { message_id: message.message_id };
    const body = { reason: 'Created by the contract check.' };
    for (const { token } of [world.admirer, world.removed]) {
      await dataOf(api.reportMessage({ client: client(token), path, body }));
    }
    return message;
  });
  await provide(world, 'privateSpace', async () => {
    const space = await createSpace(world, world.creator, 'private');
    await joinSpace(world, world.other, space);
    await sendMessage(world, world.other, space);
    return space;
  });
  await provide(world, 'otherSpace', () => createSpace(world, world.other));
  await provide(world, 'sessionId', world.openSession);
  await provide(world, 'programToken', async () => {
    await world.createToken();
    return world.createToken();
  });
  // From here on, the caller is responsible for `close`.
  cleanup.move();
  return world;
}

/** Creates data and adds it to a world. If an operation that creates it fails, reading the property throws the error. */
async function provide<Name extends keyof World>(
  world: World,
  name: Name,
  create: () => Promise<World[Name]>,
): Promise<void> {
  let get: () => World[Name];
  try {
    const data = await create();
    get = () => data;
  } catch (error) {
    if (!(error instanceof FailedOperation)) throw error;
    get = () => {
      throw error;
    };
  }
  Object.defineProperty(world, name, { get, enumerable: true });
}

type Clients = Pick<World, 'client'>;

/** Opens a session of `creator`. Resolves to its id. */
async function openSession({ client, logIn, creator }: World): Promise<string> {
  const own = client(await logIn(creator));
  const { items: sessions } = await dataOf(api.listSessions({ client: own }));
  // Not always the newest session, which can belong to another client of the account. It is the fallback for a server
  // that returns a wrong `is_current`, which then fails one check instead of all.
  const opened = sessions.find(({ is_current }) => is_current) ?? sessions[0];
  if (!opened) throw new Error(`${creator.email} has no session.`);
  return opened.session_id;
}

function createSpace(
  { client, word }: World,
  { token }: Account,
  visibility: Visibility = 'public',
): Promise<Space> {
  const body = { ...SPACE, description: `${SPACE.description} ${word}`, visibility };
  return dataOf(api.createSpace({ client: client(token), body }));
}

async function joinSpace(
  { client }: Clients,
  { token }: Account,
  { space_id, invitation_code }: Space,
): Promise<void> {
  const body = { invitation_code };
  await dataOf(api.joinSpace({ client: client(token), path: { space_id }, body }));
}

function sendMessage(
  { client }: Clients,
  { token }: Account,
  { space_id }: Space,
): Promise<Message> {
  const body = { space_id, text: 'How lovely!' };
  return dataOf(api.sendMessage({ client: client(token), body }));
}

/** Of `other`, because an existing account would keep it. */
function createToken({ client, other }: World): Promise<CreatedToken> {
  const body: TokenCreation = { name: 'Created by the contract check', scopes: ['moderate'] };
  return dataOf(api.createToken({ client: client(other.token), body }));
}

/** Registers a user who joins `space` and is removed from it. */
async function registerRemovedUser({ client, register, creator, space }: World): Promise<Account> {
  const user = await register();
  await joinSpace({ client }, user, space);
  const path = { space_id: space.space_id, user_id: user.userId };
  await dataOf(api.removeParticipant({ client: client(creator.token), path }));
  return user;
}

/** Registers a user who appreciates `message`. */
async function registerAdmirer({ client, register, message }: World): Promise<Account> {
  const user = await register();
  const path = { message_id: message.message_id };
  await dataOf(api.appreciateMessage({ client: client(user.token), path }));
  return user;
}

async function registerFrequentReporter(world: World): Promise<Account> {
  const reporter = await world.register();
  const client = world.client(reporter.token);
  const body = { reason: 'Created by the contract check.' };
  for (let i = 0; i < MAX_OPEN_REPORTS; i += 1) {
    const { message_id } = await world.sendMessage();
    await dataOf(api.reportMessage({ client, path: { message_id }, body }));
  }
  return reporter;
}
