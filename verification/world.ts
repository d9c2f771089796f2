import { type Client, createClient, createConfig } from '../generated/client/index.ts';
import * as api from '../generated/sdk.gen.ts';
import type { Message, Registration, Space, SpaceCreation } from '../generated/types.gen.ts';
import {
  type Account,
  type CreateClient,
  type Credentials,
  type ExistingAccount,
  logIn,
  TemporaryAccounts,
  useExistingAccount,
} from './accounts.ts';
import { dataOf, MissingOperation, REQUEST_TIMEOUT_MS } from './exchange.ts';

/**
 * Temporary accounts on a server, with the data that provokes the declared responses. If the server does not implement
 * an operation that creates some of the data, reading the property of this data throws MissingOperation.
 */
export interface World {
  url: string;
  /** The creator of `space`, of a second space like it, of `message`, and of a second message in `space`. */
  creator: Account;
  space: Space;
  message: Message;
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
  /** A session of `creator`, besides the one with the access token. */
  sessionId: string;
  /** Returns a client that sends the access token, if any. */
  client(token?: string): Client;
  /** Registers an account. `close` deletes it. */
  register(): Promise<Account>;
  /** Returns data for a registration by a later request. `close` deletes the account. */
  newRegistration(): Registration;
  /** Resolves to an access token. */
  logIn(account: Registration): Promise<string>;
  /** Opens a session of `creator`. Resolves to its id. */
  openSession(): Promise<string>;
  /** Registers an account that has as many open reports as possible. */
  registerFrequentReporter(): Promise<Account>;
  /** Creates a space as `creator`. */
  createSpace(): Promise<Space>;
  /** Sends a message to `space` as `creator`. */
  sendMessage(): Promise<Message>;
  /** Deletes the temporary accounts with everything they created, and restores an existing account. */
  close(): Promise<void>;
}

/** As in the description of `reportMessage`. */
const MAX_OPEN_REPORTS = 20;

/** Matches the search queries in the contract's examples. */
const SPACE: SpaceCreation = {
  title: 'Sourdough bread',
  description: 'Created by the contract check, which deletes it at the end.',
  visibility: 'public',
  tags: ['baking'],
};

/**
 * Creates the test data on a server.
 * @throws UnexpectedResponse if a request fails, unless the server does not implement the operation
 */
export async function openWorld(url: string, credentials?: Credentials): Promise<World> {
  const fetchInTime: typeof fetch = (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const client: CreateClient = (token = '') =>
    createClient(createConfig({ baseUrl: url, auth: token, fetch: fetchInTime }));
  const accounts = new TemporaryAccounts(client);
  const register = () => accounts.register();
  let existing: ExistingAccount | undefined;
  const openedSessions: string[] = [];

  const openSession = async (account: Account) => {
    await logIn(client, account);
    const own = client(account.token);
    const [newest] = await dataOf(api.listSessions({ client: own, query: { limit: 1 } }));
    if (!newest) throw new Error(`${account.email} has no session.`);
    openedSessions.push(newest.session_id);
    return newest.session_id;
  };
  const openCreator = async () => {
    if (!credentials) return register();
    existing = await useExistingAccount(client, credentials);
    return existing.account;
  };
  const createSpace = ({ token }: Account, visibility: Space['visibility'] = 'public') =>
    dataOf(api.createSpace({ client: client(token), body: { ...SPACE, visibility } }));
  const joinSpace = ({ token }: Account, { space_id, invitation_code }: Space) =>
    dataOf(api.joinSpace({ client: client(token), path: { space_id }, body: { invitation_code } }));
  const removeParticipant = ({ token }: Account, { space_id }: Space, { userId }: Account) =>
    dataOf(api.removeParticipant({ client: client(token), path: { space_id, user_id: userId } }));
  const sendMessage = ({ token }: Account, { space_id }: Space) =>
    dataOf(api.sendMessage({ client: client(token), body: { space_id, text: 'How lovely!' } }));
  const registerFrequentReporter = async (creator: Account, space: Space) => {
    const reporter = await register();
    for (let i = 0; i < MAX_OPEN_REPORTS; i += 1) {
      const { message_id } = await sendMessage(creator, space);
      const body = { reason: 'Created by the contract check.' };
      const own = client(reporter.token);
      await dataOf(api.reportMessage({ client: own, path: { message_id }, body }));
    }
    return reporter;
  };

  const close = async () => {
    await existing?.restore(openedSessions);
    const remaining = await accounts.deleteAll();
    if (remaining.length > 0) {
      throw new Error(`These accounts could not be deleted from ${url}: ${remaining.join(', ')}.`);
    }
  };

  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(close);
  const creator = await provide(openCreator);
  const other = await provide(register, () => {
    accounts.canRegister = false;
  });
  // Each list gets two items, so that its first page links to the next one.
  const space = await provide(async () => {
    await createSpace(creator());
    return createSpace(creator());
  });
  const message = await provide(async () => {
    await sendMessage(creator(), space());
    return sendMessage(creator(), space());
  });
  const participant = await provide(async () => {
    const account = await register();
    await joinSpace(account, space());
    return account;
  });
  const removed = await provide(async () => {
    const users = [await register(), await register()] as const;
    for (const user of users) {
      await joinSpace(user, space());
      await removeParticipant(creator(), space(), user);
    }
    return users[0];
  });
  const privateSpace = await provide(async () => {
    const created = await createSpace(creator(), 'private');
    await joinSpace(other(), created);
    await sendMessage(other(), created);
    return created;
  });
  const otherSpace = await provide(() => createSpace(other()));
  const sessionId = await provide(() => openSession(creator()));
  // From here on, the caller is responsible for `close`.
  cleanup.move();
  return {
    url,
    get creator() {
      return creator();
    },
    get space() {
      return space();
    },
    get message() {
      return message();
    },
    get other() {
      return other();
    },
    get otherSpace() {
      return otherSpace();
    },
    get privateSpace() {
      return privateSpace();
    },
    get participant() {
      return participant();
    },
    get removed() {
      return removed();
    },
    get sessionId() {
      return sessionId();
    },
    client,
    register,
    newRegistration: () => accounts.newRegistration(),
    logIn: (account) => logIn(client, account),
    openSession: () => openSession(creator()),
    registerFrequentReporter: () => registerFrequentReporter(creator(), space()),
    createSpace: () => createSpace(creator()),
    sendMessage: () => sendMessage(creator(), space()),
    close,
  };
}

/**
 * Creates data. Resolves to a function that returns it, or throws MissingOperation.
 * @param onMissing called if the server does not implement an operation that creates the data
 */
async function provide<T>(
  create: () => Promise<T>,
  onMissing: () => void = () => {},
): Promise<() => T> {
  try {
    const data = await create();
    return () => data;
  } catch (error) {
    if (!(error instanceof MissingOperation)) throw error;
    onMissing();
    return () => {
      throw error;
    };
  }
}
