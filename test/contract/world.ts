import { randomBytes } from 'node:crypto';
import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Registration, Space, SpaceCreation } from '../../generated/types.gen.ts';

export interface Account extends Registration {
  userId: string;
  token: string;
}

/** Temporary accounts on a server with everything that the check needs to provoke each answer. */
export interface World {
  url: string;
  /** Created `space`, another space like it, and two messages in `space`, including `message`. */
  creator: Account;
  space: Space;
  message: Message;
  /** Created `elsewhere` and is no participant of `space`. */
  other: Account;
  otherSpace: Space;
  signUp(): Promise<Account>;
  /** Returns data for a registration by a later request. */
  newRegistration(): Registration;
  logIn(account: Registration): Promise<string>;
  createSpace(): Promise<Space>;
  sendMessage(): Promise<Message>;
  /** Deletes the accounts with everything they created. */
  deleteAccounts(): Promise<void>;
}

/** Returns an unused username. */
export const newUsername = () => `contract-${randomBytes(6).toString('hex')}`;

/** Matches the searches in the contract's examples. */
const SPACE: SpaceCreation = {
  title: 'Sourdough bread',
  description: 'A space of the contract check, which deletes it at its end.',
  visibility: 'public',
  tags: ['baking'],
};

/** Credentials of an existing account to use instead of a temporary one. */
export interface Credentials {
  email: string;
  password: string;
}

export async function openWorld(url: string, credentials?: Credentials): Promise<World> {
  const client = (token = '') => createClient(createConfig({ baseUrl: url, auth: token }));
  const accounts: (Registration & { token?: string })[] = [];

  const registration = () => {
    const username = newUsername();
    const password = randomBytes(12).toString('base64url');
    return { username, email: `${username}@example.com`, password };
  };
  const signUp = async () => {
    const body = registration();
    const session = await dataOf(api.register({ client: client(), body }));
    const account = { ...body, userId: session.user_id, token: session.access_token };
    accounts.push(account);
    return account;
  };
  const newcomer = () => {
    const account = registration();
    accounts.push(account);
    return account;
  };
  const logIn = async ({ email, password }: Registration) => {
    const session = await dataOf(api.login({ client: client(), body: { email, password } }));
    return session.access_token;
  };
  /** Signs in to the given account. `close` restores its username and bio and deletes its new spaces. */
  const signIn = async ({ email, password }: Credentials): Promise<Account> => {
    const session = await dataOf(api.login({ client: client(), body: { email, password } }));
    const by = client(session.access_token);
    const { username, bio } = await dataOf(api.getProfile({ client: by }));
    const before = await spacesOf(by);
    restoreAccount = async () => {
      const created = (await spacesOf(by)).filter((space_id) => !before.includes(space_id));
      for (const space_id of created) await api.deleteSpace({ client: by, path: { space_id } });
      await dataOf(api.changeUsername({ client: by, body: { username } }));
      await dataOf(api.changeBio({ client: by, body: { bio } }));
      await api.logout({ client: by });
    };
    return { username, email, password, userId: session.user_id, token: session.access_token };
  };
  let restoreAccount = async () => {};
  const create = ({ token }: Account) =>
    dataOf(api.createSpace({ client: client(token), body: SPACE }));
  const write = ({ token }: Account, { space_id }: Space) =>
    dataOf(api.sendMessage({ client: client(token), body: { space_id, text: 'How lovely!' } }));

  const close = async () => {
    await restoreAccount();
    const left: string[] = [];
    for (const { email, password, token } of accounts) {
      const remove = async (by: string) =>
        (await api.deleteAccount({ client: client(by) })).response?.status;
      let status = token && (await remove(token));
      if (status !== 200) {
        // The session has ended, or a request registered the account.
        const { data, response } = await api.login({ client: client(), body: { email, password } });
        status = data ? await remove(data.access_token) : response?.status;
      }
      const isGone = status === 200 || status === 401;
      if (!isGone) left.push(email);
    }
    if (left.length > 0)
      throw new Error(`These accounts could not be deleted from ${url}: ${left.join(', ')}.`);
  };

  try {
    const creator = credentials ? await signIn(credentials) : await signUp();
    const other = await signUp();
    const [space, , elsewhere] = [
      await create(creator),
      await create(creator),
      await create(other),
    ];
    const [message] = [await write(creator, space), await write(creator, space)];
    return {
      ...{
        url,
        creator,
        space,
        message,
        other,
        otherSpace: elsewhere,
        signUp,
        newRegistration: newcomer,
        logIn,
        deleteAccounts: close,
      },
      createSpace: () => create(creator),
      sendMessage: () => write(creator, space),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the ids of the 100 spaces joined last, more than a run creates. */
async function spacesOf(client: Client): Promise<string[]> {
  const participations = await dataOf(api.listParticipations({ client, query: { limit: 100 } }));
  return participations.map(({ space }) => space.space_id);
}

async function dataOf<T>(
  call: Promise<{ data?: T; error?: unknown; response?: Response; request?: Request }>,
): Promise<T> {
  const { data, error, response, request } = await call;
  if (data !== undefined) return data;
  const what = response
    ? `${response.status} ${JSON.stringify(error)}`
    : `no answer, ${(error as Error).cause ?? error}`;
  throw new Error(`${request?.method} ${request?.url} got ${what}`);
}
