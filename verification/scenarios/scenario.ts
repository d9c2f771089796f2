import type { Caller, OperationId, User } from './caller.ts';

/** A sentence about the behaviour of a server, with the steps that prove it. */
export interface Scenario {
  /** The operation that the sentence is about. */
  operation: OperationId;
  /** Completes "A server implements the contract if …". Unique among the scenarios of the operation. */
  sentence: string;
  /** The rule in the contract that the sentence follows from, word for word. */
  rule: string;
  /** @throws Deviation if the server behaves differently */
  run(stage: Stage): Promise<void>;
}

/** What a scenario works with. Everything on a stage is used by one scenario at a time. */
export interface Stage {
  /** Sends requests without an access token. */
  anonymous: Caller;
  /** Returns a user for spaces and messages. Earlier scenarios may have used the account, which saves registrations. */
  user(): Promise<User>;
  /** Returns as many users. */
  users(count: number): Promise<User[]>;
  /** Registers an account that no other scenario uses, to count its spaces or to change the account itself. */
  newcomer(): Promise<User>;
  /** Returns a caller with another session of the user. */
  signIn(user: User): Promise<User>;
  /** Returns a word that occurs nowhere on the server. */
  word(): string;
}
