import assert from 'node:assert/strict';
import { type Operation, operations } from '../../../server/contract.ts';
import { declaredStatuses } from '../../support/contract.ts';
import { draw, drawName } from '../../support/drawing.ts';
import { inputNamesOf } from '../../support/requests.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import type { Facts, Journal, Ledger } from './ledger.ts';
import { sendExample } from './people.ts';
import { openState, TAGS, type TrafficUser, WORDS } from './traffic-state.ts';
import { type Attempt, createWrites, type Write, writeShares } from './writes.ts';

/** The outcome of a request. */
export interface Result {
  operation: string;
  /** Undefined without a response. */
  status: number | undefined;
  contentType: string | null;
  /** Whether the request has changed the expected facts. */
  isChange: boolean;
}

/** Random requests of many users, and a ledger of their outcomes. Users register on demand. */
export interface Traffic {
  ledger: Ledger;
  /** Sends all later requests to this base URL. */
  setUrl(url: string): void;
  writer(): Writer;
  /** Sends one random read. */
  read(): Promise<Result>;
  /** Replaces the expected state with the actual state of the database. */
  settle(actual: { facts: Facts; ids: Map<string, string> }): void;
}

/**
 * Sends one write: the requested operation if possible, otherwise a random one.
 * @param repeats whether the write is repeated while the service is unavailable; it is by default
 * @throws AssertionError if the response is unexpected
 */
export type Writer = (operation?: Write, repeats?: boolean) => Promise<Result>;

/** Operations that are never drawn at random, with the reason. */
export const neverDrawn: Readonly<Record<string, string>> = {
  register: 'It is sent when a writer needs another person.',
  login: 'The ledger does not compare its effects.',
  logout: 'The ledger does not compare its effects.',
  endSession: 'The ledger does not compare its effects.',
  createToken: 'The ledger does not compare its effects.',
  revokeToken: 'The ledger does not compare its effects.',
  changePassword: 'The ledger does not compare its effects.',
  changeEmail: 'The server of these trials sends no mail.',
  requestEmailVerification: 'The server of these trials sends no mail.',
  requestPasswordReset: 'The server of these trials sends no mail.',
  resetPassword: 'It needs a token of a mail.',
  verifyEmail: 'It needs a token of a mail.',
  renewInvitationCode: 'The ledger does not compare its effects.',
};

/** Returns whether the traffic sends this operation as a read, with the values below or the contract's examples. */
export function isRead({ method }: Operation): boolean {
  return method === 'GET';
}

const declared = new Set(declaredStatuses());

/** Maximum number of users of each writer. */
const MAX_PEOPLE = 12;

export function openTraffic(): Traffic {
  const state = openState();
  const { ledger, client, spaces, messages, people, drawExisting } = state;
  const writes = createWrites(state);

  async function perform(
    operation: string,
    attempt: Attempt,
    journal: Journal,
    repeats: boolean,
  ): Promise<Result> {
    const before = new Map(Object.keys(attempt.changes).map((key) => [key, ledger.value(key)]));
    const send = async () => {
      journal.begin(attempt.changes);
      const sent = await attempt.send();
      if (sent.response && !sent.response.ok) journal.reject();
      return sent;
    };
    const { data, response, error } = await (repeats ? retryWhileUnavailable(send) : send());
    const result = resultOf(operation, response);
    if (result.status === undefined || (response?.ok && data === undefined)) {
      return { ...result, status: undefined };
    }
    if (response?.ok) {
      const known = attempt.onSuccess?.(data as never);
      journal.acknowledge(known);
      const changes = Object.entries({ ...attempt.changes, ...known });
      result.isChange = changes.some(([key, value]) => before.get(key) !== value);
    }
    // Other writers may have deleted the target, made it private or sent messages to a private space.
    const isConflict = operation === 'updateSpace' && result.status === 409;
    const isExpected = response?.ok || isConflict || [403, 404, 503].includes(result.status);
    assert(isExpected, `${operation} returned ${result.status}: ${JSON.stringify(error)}`);
    return result;
  }

  return {
    ledger,
    setUrl: (url) => void client.setConfig({ baseUrl: url }),

    writer() {
      const journal = ledger.journal();
      const own: TrafficUser[] = [];
      return async (wanted, repeats = true) => {
        const alive = own.filter(({ mark }) => ledger.exists(`user ${mark}`));
        own.splice(0, own.length, ...alive);
        const wantsPerson = own.length < 2 || (own.length < MAX_PEOPLE && Math.random() < 0.02);
        if (own.length === 0 || (wanted === undefined && wantsPerson)) {
          return perform('register', writes.register(own), journal, repeats);
        }
        for (let operation = wanted ?? drawName(writeShares); ; operation = drawName(writeShares)) {
          const person = draw(own);
          const attempt = writes.create(operation, person, own);
          if (attempt) return perform(operation, attempt, journal, repeats);
        }
      };
    },

    async read() {
      const person = people.findLast(({ mark }) => ledger.exists(`user ${mark}`));
      const space = drawExisting('space', spaces);
      const message = drawExisting('message', messages);
      const values: Record<string, string> = {
        q: draw(WORDS),
        tag: draw(TAGS),
        ...(person && state.userId(person.mark)),
        ...(space !== undefined && state.spaceId(space)),
        ...(message !== undefined && state.messageId(message)),
      };
      const possible = operations.filter(
        (operation) =>
          isRead(operation) &&
          (operation.authentication !== 'required' || person) &&
          inputNamesOf(operation).every((name) => !name.endsWith('_id') || name in values),
      );
      const operation = draw(possible);
      const { baseUrl = '' } = client.getConfig();
      const token = operation.authentication === 'required' ? person?.token : undefined;
      // A killed server sends no response, or an incomplete one.
      const sent = await sendExample(baseUrl, operation, values, token).catch(() => undefined);
      const result = resultOf(operation.operationId, sent?.response);
      const { status } = result;
      // A concurrent write may have deleted the target or the session, and some reads require participation.
      const isExpected =
        status === undefined ||
        status < 400 ||
        ([401, 403, 404].includes(status) && declared.has(`${operation.operationId} ${status}`));
      assert(
        isExpected,
        `${operation.operationId} returned ${status}: ${JSON.stringify(sent?.error)}`,
      );
      return result;
    },

    settle: state.settle,
  };
}

function resultOf(operation: string, response: Response | undefined): Result {
  const contentType = response?.headers.get('content-type') ?? null;
  return { operation, status: response?.status, contentType, isChange: false };
}
