import { randomBytes } from 'node:crypto';
import type { Account } from '../accounts.ts';
import type { World } from '../world.ts';
import { Caller, type Transport, User } from './caller.ts';
import type { Stage } from './scenario.ts';

/** A newcomer that may have called one of these is no user for other scenarios. */
const SPENDING_OPERATIONS = [
  'blockUser',
  'changeUsername',
  'createToken',
  'deleteAccount',
  'endSession',
  'logout',
  'reportMessage',
];

/** Lends the temporary accounts of a world to scenarios, each to one at a time. */
export class Accounts {
  readonly #world: Pick<World, 'url' | 'fetch' | 'newRegistration' | 'adopt'>;
  readonly #free: Account[] = [];
  readonly #interruption: AbortSignal | undefined;

  constructor(
    world: Pick<World, 'url' | 'fetch' | 'newRegistration' | 'adopt'>,
    interruption: AbortSignal | undefined,
  ) {
    this.#world = world;
    this.#interruption = interruption;
  }

  /**
   * Returns a stage for one scenario.
   * @param exchanges gets a line about each exchange
   */
  openStage(exchanges: string[]): Stage & { close(): void } {
    const { url, fetch, adopt } = this.#world;
    const lent: Account[] = [];
    const newcomers: Account[] = [];
    let isSpent = false;
    const transport: Transport = {
      url,
      fetch,
      onExchange(line, operationId) {
        exchanges.push(line);
        isSpent ||= SPENDING_OPERATIONS.includes(operationId);
      },
      onRegistration: adopt,
      interruption: this.#interruption,
    };
    const anonymous = new Caller(transport);
    const register = async () => {
      const registration = this.#world.newRegistration();
      const session = await anonymous.call('register', { ...registration });
      const { user_id: userId, access_token: token } = session;
      // `newRegistration` deletes the account with this token.
      return Object.assign(registration, { userId, token });
    };
    const user = async () => {
      const account = this.#free.shift() ?? (await register());
      lent.push(account);
      return new User(transport, account);
    };
    return {
      anonymous,
      user,
      async users(count) {
        const users: User[] = [];
        while (users.length < count) users.push(await user());
        return users;
      },
      async newcomer() {
        const account = await register();
        newcomers.push(account);
        return new User(transport, account);
      },
      async signIn({ account }) {
        const { email, password } = account;
        const { access_token } = await anonymous.call('login', { email, password });
        return new User(transport, account, access_token);
      },
      word: () => `scenario${randomBytes(7).toString('hex')}`,
      close: () => this.#free.push(...lent, ...(isSpent ? [] : newcomers)),
    };
  }
}
