import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as api from '../../generated/sdk.gen.ts';
import { restoreAccount, suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import type { Engine } from '../../server/database/engine.ts';
import type { TestUser } from './client.ts';
import { draw, drawName, remember } from './drawing.ts';
import { freshList, ListFollower } from './list-follower.ts';

const MAX_SPACES = 20;
const MAX_MESSAGES = 50;

/** Number of writers that make changes at the same time. */
const WRITERS = 4;

/** A lost announcement delays a change by one waiting request. */
const MAX_QUIET_MS = 40_000;

const SHARES = {
  createSpace: 4,
  join: 16,
  leave: 6,
  appoint: 4,
  dismiss: 2,
  remove: 3,
  undoRemoval: 3,
  send: 30,
  editMessage: 6,
  deleteMessage: 6,
  appreciate: 4,
  markRead: 15,
  changeTitle: 8,
  changeVisibility: 2,
  renewCode: 1,
  deleteSpace: 2,
  rename: 3,
  suspend: 1,
  deleteAccount: 2,
};

const KINDS = Object.keys(SHARES) as (keyof typeof SHARES)[];

interface WalkOptions {
  /** They follow their lists, and change spaces. */
  users: readonly TestUser[];
  engine: Engine;
  /** Registers a guest, whose account will be suspended or deleted. */
  register: (username: string) => Promise<TestUser>;
  rounds: number;
  changesPerRound: number;
  /** The share of changes that another follower of the first list loses. */
  lossRate: number;
}

/**
 * Makes random changes, and compares the lists of followers with fresh reads after each round of them.
 * @returns the number of changes, and how often the list of the follower that loses changes differed
 * @throws AssertionError if another list differs
 */
export async function walkLists({
  users,
  engine,
  register,
  rounds,
  changesPerRound,
  lossRate,
}: WalkOptions): Promise<{ changes: number; controlDifferences: number }> {
  const walk = new Walk(users, engine, register);
  const followers = users.map((user) => ({ user, follower: new ListFollower(user) }));
  const [owner] = users as [TestUser];
  const control = new ListFollower(owner, lossRate);
  const all = [...followers.map(({ follower }) => follower), control];
  for (const follower of all) await follower.start();
  const stopping = new AbortController();
  let failure: unknown;
  const following = all.map(async (follower) => {
    try {
      while (!stopping.signal.aborted) await follower.read({ wait: 2, limit: draw([1, 3, 20]) });
    } catch (error) {
      failure ??= error;
    }
  });

  let controlDifferences = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const changes = Math.ceil(changesPerRound / WRITERS);
      await Promise.all(Array.from({ length: WRITERS }, () => walk.change(changes)));
      for (const { user, follower } of followers) {
        const expected = await freshList(user);
        const deadline = performance.now() + MAX_QUIET_MS;
        while (!isDeepStrictEqual(follower.list(), expected) && performance.now() < deadline) {
          if (failure) throw failure;
          await sleep(20);
        }
        assert.deepEqual(follower.list(), expected, `the list of ${user.username}`);
      }
      await sleep(100);
      if (!isDeepStrictEqual(control.list(), await freshList(owner))) {
        controlDifferences += 1;
        await control.start();
      }
    }
  } finally {
    stopping.abort();
    await Promise.all(following);
  }
  return { changes: walk.changes, controlDifferences };
}

/** Random changes. Those that are not allowed in the current state do nothing. */
class Walk {
  changes = 0;
  readonly #users: readonly TestUser[];
  readonly #engine: Engine;
  readonly #register: WalkOptions['register'];
  readonly #spaces: { space_id: string; code: string | null }[] = [];
  readonly #messages: { message_id: string; space_id: string }[] = [];
  #names = 0;
  #begun = 0;

  constructor(users: readonly TestUser[], engine: Engine, register: WalkOptions['register']) {
    this.#users = users;
    this.#engine = engine;
    this.#register = register;
  }

  async change(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      // Each kind once, and then by chance.
      const kind = KINDS[this.#begun] ?? drawName(SHARES);
      this.#begun += 1;
      await this.#changes[kind]();
      this.changes += 1;
    }
  }

  readonly #changes: Record<keyof typeof SHARES, () => Promise<unknown>> = {
    createSpace: () => this.#createSpace(draw(this.#users)),
    join: () => this.#inSpace((user, space) => this.#join(user, space)),
    leave: () =>
      this.#inSpace(({ client }, { space_id }) => api.leaveSpace({ client, path: { space_id } })),
    appoint: () =>
      this.#inSpace(({ client }, { space_id }) => {
        const path = { space_id, user_id: draw(this.#users).userId };
        return api.appointModerator({ client, path });
      }),
    dismiss: () =>
      this.#inSpace(({ client }, { space_id }) => {
        const path = { space_id, user_id: draw(this.#users).userId };
        return api.dismissModerator({ client, path });
      }),
    remove: () =>
      this.#inSpace(({ client }, { space_id }) => {
        const path = { space_id, user_id: draw(this.#users).userId };
        return api.removeParticipant({ client, path });
      }),
    undoRemoval: () =>
      this.#inSpace(({ client }, { space_id }) => {
        const path = { space_id, user_id: draw(this.#users).userId };
        return api.undoRemoval({ client, path });
      }),
    send: () => this.#inSpace((user, space) => this.#send(user, space)),
    editMessage: () =>
      this.#onMessage(({ client }, { message_id }) => {
        const body = { text: `Edited ${this.changes} ${this.#mention()}` };
        return api.editMessage({ client, path: { message_id }, body });
      }),
    deleteMessage: () =>
      this.#onMessage(({ client }, { message_id }) =>
        api.deleteMessage({ client, path: { message_id } }),
      ),
    appreciate: () =>
      this.#onMessage(({ client }, { message_id }) =>
        api.appreciateMessage({ client, path: { message_id } }),
      ),
    markRead: () =>
      this.#onMessage(({ client }, { space_id, message_id }) =>
        api.markRead({ client, path: { space_id }, body: { message_id } }),
      ),
    changeTitle: () =>
      this.#inSpace(({ client }, { space_id }) =>
        api.updateSpace({ client, path: { space_id }, body: { title: `Title ${this.changes}` } }),
      ),
    changeVisibility: () =>
      this.#inSpace(async ({ client }, space) => {
        const body = { visibility: draw(['public', 'private'] as const) };
        const path = { space_id: space.space_id };
        const { data } = await api.updateSpace({ client, path, body });
        if (data) space.code = data.invitation_code;
      }),
    renewCode: () =>
      this.#inSpace(async ({ client }, space) => {
        const path = { space_id: space.space_id };
        const { data } = await api.renewInvitationCode({ client, path });
        if (data) space.code = data.invitation_code;
      }),
    deleteSpace: () =>
      this.#inSpace(({ client }, { space_id }) => api.deleteSpace({ client, path: { space_id } })),
    rename: () => {
      this.#names += 1;
      const body = { username: `reader named ${this.#names}` };
      return api.changeUsername({ client: draw(this.#users).client, body });
    },
    // Of guests, because a suspension ends the sessions of its account.
    suspend: async () => {
      const guest = await this.#welcomeGuest();
      await this.#createSpace(guest);
      for (let i = 0; i < 3; i += 1) await this.#changes.join();
      await suspendAccount(this.#engine, guest.userId);
      if (Math.random() < 0.7) await restoreAccount(this.#engine, guest.userId);
    },
    deleteAccount: async () => {
      const guest = await this.#welcomeGuest();
      // Deleting the account of a creator makes the next page incomplete.
      if (Math.random() < 0.3) {
        await this.#createSpace(guest);
        await this.#changes.join();
      }
      await api.deleteAccount({ client: guest.client, throwOnError: true });
    },
  };

  /** Registers a user, who joins spaces and writes in them. */
  async #welcomeGuest(): Promise<TestUser> {
    this.#names += 1;
    const guest = await this.#register(`guest${this.#names}`);
    for (let i = 0; i < 3; i += 1) {
      await this.#inSpace(async (_, space) => {
        await this.#join(guest, space);
        await this.#send(guest, space);
        if (Math.random() < 0.3) {
          await api.leaveSpace({ client: guest.client, path: { space_id: space.space_id } });
        }
      });
    }
    return guest;
  }

  async #createSpace({ client }: TestUser): Promise<void> {
    const visibility = draw(['public', 'private'] as const);
    const body = { title: 'Space', description: '', visibility, tags: [] };
    const { data } = await api.createSpace({ client, body });
    if (!data) return;
    remember(this.#spaces, { space_id: data.space_id, code: data.invitation_code }, MAX_SPACES);
  }

  async #join(
    { client }: TestUser,
    { space_id, code }: { space_id: string; code: string | null },
  ): Promise<void> {
    const body = code === null ? {} : { invitation_code: code };
    await api.joinSpace({ client, path: { space_id }, body });
  }

  async #send({ client }: TestUser, { space_id }: { space_id: string }): Promise<void> {
    const answered = this.#messages.filter((each) => each.space_id === space_id);
    const reply_to = answered.length > 0 && Math.random() < 0.3 ? draw(answered).message_id : null;
    const body = { space_id, text: `Message ${this.changes} ${this.#mention()}`, reply_to };
    const { data } = await api.sendMessage({ client, body });
    if (data) remember(this.#messages, data, MAX_MESSAGES);
  }

  /** Returns a mention of a user, who may have another name now, or nothing. */
  #mention(): string {
    const names = [draw(this.#users).username, `reader named ${this.#names}`];
    return Math.random() < 0.3 ? `@${draw(names)}` : '';
  }

  async #inSpace(
    work: (user: TestUser, space: { space_id: string; code: string | null }) => Promise<unknown>,
  ): Promise<void> {
    if (this.#spaces.length > 0) await work(draw(this.#users), draw(this.#spaces));
  }

  async #onMessage(
    work: (user: TestUser, message: { message_id: string; space_id: string }) => Promise<unknown>,
  ): Promise<void> {
    if (this.#messages.length > 0) await work(draw(this.#users), draw(this.#messages));
  }
}
