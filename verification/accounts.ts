import { randomBytes } from 'node:crypto';
import type { Client } from '../generated/client/index.ts';
import * as api from '../generated/sdk.gen.ts';
import type { ParticipationPage, Registration } from '../generated/types.gen.ts';
import { dataOf, type Exchange, MissingOperation, UnexpectedResponse } from './exchange.ts';

export interface Account extends Registration {
  userId: string;
  token: string;
}

/** Credentials of an existing account. */
export interface Credentials {
  email: string;
  password: string;
}

/** Returns a client that sends the access token, if any. */
export type CreateClient = (token?: string) => Client;

export const newUsername = () => `contract-${randomBytes(6).toString('hex')}`;

/** Returns an access token of a new session. */
export async function logIn(
  client: CreateClient,
  { email, password }: Credentials,
): Promise<string> {
  const session = await dataOf(api.login({ client: client(), body: { email, password } }));
  return session.access_token;
}

/** Accounts that are deleted at the end of the check. */
export class TemporaryAccounts {
  readonly #client: CreateClient;
  readonly #accounts: (Registration & { token?: string })[] = [];
  #canRegister = true;

  constructor(client: CreateClient) {
    this.#client = client;
  }

  /** @throws MissingOperation if the server does not implement the operation */
  async register(): Promise<Account> {
    const body = createRegistration();
    // Before the request, because the server may create the account although the response is lost.
    this.#accounts.push(body);
    const session = await dataOf(api.register({ client: this.#client(), body })).catch((error) => {
      if (error instanceof MissingOperation) this.#canRegister = false;
      if (isRejected(error)) this.#forget(body);
      throw error;
    });
    return Object.assign(body, { userId: session.user_id, token: session.access_token });
  }

  /** Returns data for a registration by a later request. */
  newRegistration(): Registration {
    const registration = createRegistration();
    // Otherwise, no request creates the account.
    if (this.#canRegister) this.#accounts.push(registration);
    return registration;
  }

  /** Also deletes an account that a request under test has registered. */
  adopt(registration: Registration, token: string): void {
    const known = this.#accounts.find(({ email }) => email === registration.email);
    if (known) known.token ??= token;
    else this.#accounts.push({ ...registration, token });
  }

  #forget(account: Registration): void {
    this.#accounts.splice(this.#accounts.indexOf(account), 1);
  }

  /** Returns the email addresses of the accounts that could not be deleted. */
  async deleteAll(): Promise<string[]> {
    const remaining: string[] = [];
    for (const account of this.#accounts) {
      // An invalid response must not prevent the deletion of the other accounts.
      const isDeleted = await this.#delete(account).catch(() => false);
      if (!isDeleted) remaining.push(account.email);
    }
    return remaining;
  }

  async #delete({ email, password, token }: Registration & { token?: string }): Promise<boolean> {
    if (token && (await this.#deleteWith(token)) === 200) return true;
    // The session has ended, the deletion has failed, or the response to the registration is unknown.
    const body = { email, password };
    const { data, response } = await api.login({ client: this.#client(), body });
    // 401: the account was never registered, or a request under test deleted it or changed its password.
    if (!data && response?.status !== 401) return false;
    const lastToken = data?.access_token ?? token;
    if (lastToken === undefined) return true;
    const status = await this.#deleteWith(lastToken);
    // 401: the account has been deleted.
    return status === 200 || status === 401;
  }

  async #deleteWith(token: string): Promise<number | undefined> {
    const { response } = await api.deleteAccount({ client: this.#client(token) });
    return response?.status;
  }
}

/** Whether the error of a registration shows that the server has created no account. */
function isRejected(error: unknown): boolean {
  if (error instanceof MissingOperation) return true;
  // Without a response, there is no status, and the account may exist.
  const { status } = error as UnexpectedResponse;
  return status !== undefined && status >= 400 && status < 500;
}

function createRegistration(): Registration {
  const username = newUsername();
  const password = randomBytes(12).toString('base64url');
  return { username, email: `${username}@example.com`, password };
}

export interface ExistingAccount {
  account: Account;
  /**
   * Restores username and bio, and deletes new spaces. A failed step does not prevent the others.
   * @returns a sentence for each step that failed, with its remedy
   */
  restore(): Promise<string[]>;
}

/**
 * Reads the state of an existing account.
 * @param token of the session in which the check uses it
 * @throws MissingOperation if the server does not implement the operations that read what `restore` restores
 */
export async function useExistingAccount(
  client: CreateClient,
  { email, password }: Credentials,
  token: string,
): Promise<ExistingAccount> {
  const own = client(token);
  const { user_id, username, bio } = await dataOf(api.getProfile({ client: own }));
  const earlier = await dataOf(listParticipations(own));
  return {
    account: { username, email, password, userId: user_id, token },
    async restore() {
      const problems: string[] = [];
      const attempt = restorer(email, problems);
      const participations = await attempt(
        listParticipations(own),
        'Delete the spaces that it has created during the check.',
        () => false,
      );
      const earlierIds = earlier.items.map(({ space }) => space.space_id);
      const lastJoinedAt = earlier.items[0]?.joined_at ?? '';
      // Older spaces can have moved up in the list, if the account has left others during the check.
      const created = (participations?.items ?? []).filter(
        ({ space, joined_at }) => joined_at >= lastJoinedAt && !earlierIds.includes(space.space_id),
      );
      for (const { space } of created) {
        const { space_id } = space;
        await attempt(
          api.deleteSpace({ client: own, path: { space_id } }),
          `Delete its space ${space_id}.`,
          // The space belongs to a temporary account, or a request under test deleted it.
          (error) => hasStatus(error, 403, 404) && !isMissing(error),
        );
      }
      await attempt(
        api.changeUsername({ client: own, body: { username } }),
        `Change its username to ${JSON.stringify(username)}.`,
        isMissing,
      );
      await attempt(
        api.changeBio({ client: own, body: { bio } }),
        `Change its bio to ${JSON.stringify(bio)}.`,
        isMissing,
      );
      return problems;
    },
  };
}

/**
 * Ends the sessions with these access tokens. A failure does not prevent the others.
 * @returns a sentence for each failure, with its remedy
 */
export async function endSessions(
  client: CreateClient,
  { email }: Credentials,
  tokens: readonly string[],
): Promise<string[]> {
  const problems: string[] = [];
  const attempt = restorer(email, problems);
  for (const token of tokens) {
    await attempt(
      api.logout({ client: client(token) }),
      'Log out of all its sessions.',
      (error) => isMissing(error) || hasStatus(error, 401),
    );
  }
  return [...new Set(problems)];
}

/**
 * Returns a function that resolves to the response to a request. If the request fails, it resolves to undefined and
 * adds a sentence to `problems`, unless nothing remains to be done.
 */
function restorer(email: string, problems: string[]) {
  return async <T>(
    request: Promise<Exchange<T>>,
    remedy: string,
    isDone: (error: unknown) => boolean,
  ): Promise<T | undefined> => {
    try {
      return await dataOf(request);
    } catch (error) {
      if (!isDone(error)) {
        const { message } = error as Error;
        problems.push(`Restoring the account ${email} failed: ${message}. ${remedy}`);
      }
      return undefined;
    }
  };
}

/** Whether the server does not implement the operation. Then, the check did not use it, either. */
function isMissing(error: unknown): boolean {
  return error instanceof MissingOperation;
}

function hasStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof UnexpectedResponse && statuses.includes(error.status as number);
}

/** Lists the 100 spaces joined last. A run creates fewer. */
function listParticipations(client: Client): Promise<Exchange<ParticipationPage>> {
  return api.listParticipations({ client, query: { limit: 100 } });
}
