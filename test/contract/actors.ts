import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Client, createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Change } from './transactions.ts';

export interface Account {
  userId: string;
  username: string;
  email: string;
  password: string;
  token: string;
  client: Client;
}

/** A limit of the service, by what it counts. */
export type LimitName = 'publicRead' | 'username' | 'picture' | 'password' | 'register' | 'login';

/** Those who send the requests of a contract run, and what they own. */
export type Actors = Awaited<ReturnType<typeof gatherActors>>;

const PASSWORD = 'correct horse battery';

/**
 * Makes the accounts that a contract run needs, which `leave` deletes again.
 * @param server      the one under test
 * @param limited     one with limits that may be used up, if there is one
 * @param credentials of an account to use for what does not harm it, instead of a new one
 */
export async function gatherActors(
  server: string,
  limited?: string,
  credentials?: { email: string; password: string },
) {
  const accounts: Account[] = [];
  const newcomer = async (at = server) => {
    const account = await register(at);
    accounts.push(account);
    return account;
  };
  const owner = credentials ? await signIn(server, credentials) : await newcomer();
  const other = await newcomer();
  const customer = limited === undefined ? undefined : await newcomer(limited);

  const space = await newSpace(owner);
  const othersSpace = await newSpace(other);
  const joinedSpace = await newSpace(other);
  const spaces = [space, await newSpace(owner)];
  await newMessage(owner, space);
  const exhausted = new Map<LimitName, Promise<Change>>();

  return {
    /** Sends the requests, unless one needs somebody else. */
    owner,
    other,
    /** A space of the owner's, and a message of theirs in it. */
    space,
    message: await newMessage(owner, space),
    /** A space of the other's that the owner is not in, and a message there. */
    othersSpace,
    othersMessage: await newMessage(other, othersSpace),
    /** A space of the other's that the owner joins and leaves. */
    joinedSpace,
    picture: readFileSync(new URL('../../server/sample/picture.jpg', import.meta.url)),
    newName,
    newcomer: () => newcomer(),
    async newSpace() {
      const id = await newSpace(owner);
      spaces.push(id);
      return id;
    },
    newMessage: () => newMessage(owner, space),

    /** Uses a limit up, and has the request that is to be refused sent where it was. */
    async exhaust(limit: LimitName): Promise<Change> {
      if (!limited || !customer) throw new Error('No server has limits that may be used up.');
      if (!exhausted.has(limit)) exhausted.set(limit, useUp(limit, limited, customer));
      return (await exhausted.get(limit)) as Change;
    },

    /** Has an account that a request under test made deleted at the end. */
    adopt(token: string) {
      accounts.push({ ...other, token, client: connect(server, token) });
    },

    /** Deletes what the run has left behind. */
    async leave() {
      for (const { client } of accounts) await api.deleteAccount({ client });
      for (const space_id of spaces)
        await api.deleteSpace({ client: owner.client, path: { space_id } });
    },
  };
}

async function useUp(limit: LimitName, server: string, customer: Account): Promise<Change> {
  const client = customer.client;
  const { username, email } = customer;
  const wrong = 'wrong all along';
  // Whatever is not refused as invalid counts.
  const attempts: Record<LimitName, () => Promise<{ response?: Response }>> = {
    publicRead: () => api.searchSpaces({ client, query: { q: '' } }),
    username: () => api.changeUsername({ client, body: { username } }),
    picture: () =>
      api.changeProfilePicture({ client, body: { avatar: new File(['text'], 'a.jpg') } }),
    password: () =>
      api.changePassword({ client, body: { currentPassword: wrong, newPassword: PASSWORD } }),
    register: () => api.register({ client, body: { username, email, password: PASSWORD } }),
    login: () => api.login({ client, body: { email, password: wrong } }),
  };
  for (let i = 0; i < 200; i += 1) {
    const { response } = await attempts[limit]();
    if (response?.status !== 429) continue;
    const isOfStranger = limit === 'publicRead' || limit === 'register' || limit === 'login';
    return {
      server,
      token: isOfStranger ? null : customer.token,
      ...(limit === 'login' && { body: { email, password: wrong } }),
    };
  }
  throw new Error(`The limit ${limit} is not reached after 200 requests.`);
}

async function register(server: string): Promise<Account> {
  const username = newName();
  const email = `${username}@example.com`;
  const { data } = await api.register({
    client: connect(server),
    body: { username, email, password: PASSWORD },
    throwOnError: true,
  });
  return accountOf(server, data, { username, email, password: PASSWORD });
}

async function signIn(
  server: string,
  { email, password }: { email: string; password: string },
): Promise<Account> {
  const { data } = await api.login({
    client: connect(server),
    body: { email, password },
    throwOnError: true,
  });
  return accountOf(server, data, { username: '', email, password });
}

function accountOf(
  server: string,
  { user_id, access_token }: { user_id: string; access_token: string },
  known: { username: string; email: string; password: string },
): Account {
  return { userId: user_id, token: access_token, client: connect(server, access_token), ...known };
}

async function newSpace({ client }: Account): Promise<string> {
  const { data } = await api.createSpace({
    client,
    body: { title: 'Contract run', description: '', visibility: 'public', tags: ['contract-run'] },
    throwOnError: true,
  });
  return data.space_id;
}

async function newMessage({ client }: Account, space_id: string): Promise<string> {
  const { data } = await api.sendMessage({
    client,
    body: { space_id, text: 'Hello' },
    throwOnError: true,
  });
  return data.message_id;
}

function connect(server: string, token?: string): Client {
  return createClient(createConfig({ baseUrl: server, ...(token && { auth: token }) }));
}

/** One that nobody has and that looks like nobody else's. */
function newName(): string {
  return `contract-${[...randomBytes(10)].map((byte) => 'abcdefgh'[byte % 8]).join('')}`;
}
