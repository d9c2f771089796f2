import { randomBytes } from 'node:crypto';
import type { Client } from '../generated/client/index.ts';
import * as api from '../generated/sdk.gen.ts';
import type { SearchResult, SpaceCreation } from '../generated/types.gen.ts';
import { type Account, newUsername } from './accounts.ts';
import { type Check, failedCheck } from './checks.ts';
import { dataOf, type Exchange, UnexpectedResponse } from './exchange.ts';
import { operationIn } from './missing-operations.ts';
import type { World } from './world.ts';

/** An account with one public space. */
interface Subject {
  account: Account;
  /** A client of the account. */
  caller: Client;
  /** A client without an access token. */
  anyone: Client;
  spaceId: string;
  /** The title and the only tag of the space. No other space contains it. */
  word: string;
  newUsername: string;
}

/** A request, and the effects that it must have on later requests. */
interface Step {
  /** The operation of the request. */
  operationId: string;
  act(subject: Subject): unknown;
  effects: Record<string, (subject: Subject) => Promise<void>>;
}

const steps: Step[] = [
  {
    // `createSubject` has already created the space.
    operationId: 'createSpace',
    act: () => {},
    effects: {
      'searchSpaces finds a new public space': async (subject) => {
        spaceIn(await searchByText(subject), subject);
      },
      'searchSpacesByTag finds a new public space': async (subject) => {
        spaceIn(await searchByTag(subject), subject);
      },
    },
  },
  {
    operationId: 'changeUsername',
    act: ({ caller, newUsername: username }) =>
      dataOf(api.changeUsername({ client: caller, body: { username } })),
    effects: {
      'getProfile returns a changed username': async (subject) => {
        const profile = await api.getProfile({ client: subject.caller });
        requireNewUsername(profile, profile.data?.username, subject);
      },
      'searchSpaces returns a changed username': async (subject) => {
        const results = await searchByText(subject);
        requireNewUsername(results, spaceIn(results, subject).creator?.username, subject);
      },
      'searchSpacesByTag returns a changed username': async (subject) => {
        const results = await searchByTag(subject);
        requireNewUsername(results, spaceIn(results, subject).creator?.username, subject);
      },
    },
  },
  {
    operationId: 'deleteAccount',
    act: ({ caller }) => dataOf(api.deleteAccount({ client: caller })),
    effects: {
      'login rejects a deleted account': async ({ anyone, account: { email, password } }) => {
        const exchange = await api.login({ client: anyone, body: { email, password } });
        requireProblem(exchange, 401, 'credentials_incorrect');
      },
      'getProfile rejects the access token of a deleted account': async ({ caller }) => {
        requireProblem(await api.getProfile({ client: caller }), 401, 'unauthenticated');
      },
      'getSpace does not find the space of a deleted account': async ({ anyone, spaceId }) => {
        const exchange = await api.getSpace({ client: anyone, path: { space_id: spaceId } });
        requireProblem(exchange, 404, 'space_not_found');
      },
      'searchSpaces does not find the space of a deleted account': async (subject) => {
        requireNoSpaceIn(await searchByText(subject), subject);
      },
      'searchSpacesByTag does not find the space of a deleted account': async (subject) => {
        requireNoSpaceIn(await searchByTag(subject), subject);
      },
    },
  },
];

/**
 * Checks effects of requests on later requests, which the schemas of the contract cannot express: a new account creates
 * a public space, changes its username and is deleted.
 * @param isSelected returns whether to check an operation; an effect is checked if both of its operations are selected
 */
export async function checkBehaviour(
  world: World,
  isSelected: (operationId: string) => boolean,
): Promise<Check[]> {
  const selected = steps
    .filter(({ operationId }) => isSelected(operationId))
    .map(({ act, effects }) => ({
      act,
      effects: Object.entries(effects).filter(([name]) => isSelected(operationIn(name))),
    }))
    .filter(({ effects }) => effects.length > 0);
  if (selected.length === 0) return [];
  const checks: Check[] = [];
  const subject = createSubject(world);
  for (const { act, effects } of selected) {
    const acted = subject.then(act);
    for (const [name, requireEffect] of effects) {
      try {
        await acted;
        await requireEffect(await subject);
        checks.push({ name, causes: [] });
      } catch (error) {
        checks.push(failedCheck(name, error));
      }
    }
  }
  return checks;
}

async function createSubject({ register, client }: World): Promise<Subject> {
  const account = await register();
  const caller = client(account.token);
  const word = `contract${randomBytes(6).toString('hex')}`;
  const body: SpaceCreation = {
    title: word,
    description: 'Created by the contract check.',
    visibility: 'public',
    tags: [word],
  };
  const { space_id: spaceId } = await dataOf(api.createSpace({ client: caller, body }));
  return { account, caller, anyone: client(), spaceId, word, newUsername: newUsername() };
}

function searchByText({ anyone, word }: Subject): Promise<Exchange<SearchResult[]>> {
  return api.searchSpaces({ client: anyone, query: { q: word } });
}

function searchByTag({ anyone, word }: Subject): Promise<Exchange<SearchResult[]>> {
  return api.searchSpacesByTag({ client: anyone, path: { tag: word } });
}

function resultsIn(exchange: Exchange<SearchResult[]>): SearchResult[] {
  if (Array.isArray(exchange.data)) return exchange.data;
  throw new UnexpectedResponse(exchange, 'returned no list');
}

function spaceIn(exchange: Exchange<SearchResult[]>, { spaceId }: Subject): SearchResult {
  const space = resultsIn(exchange).find(({ space_id }) => space_id === spaceId);
  if (space) return space;
  throw new UnexpectedResponse(exchange, `did not return the space ${spaceId}`);
}

function requireNoSpaceIn(exchange: Exchange<SearchResult[]>, { spaceId }: Subject): void {
  if (resultsIn(exchange).some(({ space_id }) => space_id === spaceId)) {
    throw new UnexpectedResponse(exchange, `still returned the space ${spaceId}`);
  }
}

function requireNewUsername(
  exchange: Exchange<unknown>,
  username: string | undefined,
  { newUsername }: Subject,
): void {
  if (username !== newUsername) {
    throw new UnexpectedResponse(exchange, `returned the username ${username}, not ${newUsername}`);
  }
}

function requireProblem(exchange: Exchange<unknown>, status: number, code: string): void {
  const { response, error } = exchange;
  if (response?.status !== status) {
    throw new UnexpectedResponse(exchange, `returned ${response?.status} instead of ${status}`);
  }
  const { code: actual } = (error ?? {}) as { code?: string };
  if (actual !== code) {
    throw new UnexpectedResponse(exchange, `returned the code "${actual}" instead of "${code}"`);
  }
}
