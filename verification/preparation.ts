import {
  changes,
  changesByStatus,
  replaceInPath,
  requiredItems,
  setToken,
  UNKNOWN_ID,
} from './changes.ts';
import {
  type DeclaredResponse,
  declaredResponses,
  parameterExamples,
} from './declared-responses.ts';
import type { Transaction } from './dredd.ts';
import type { Servers, World } from './world.ts';

/** Maximum number of requests to reach a rate limit. */
const MAX_REQUESTS_TO_LIMIT = 200;

/** Responses that depend on a decision of the operator. */
const DECIDED_BY_OPERATOR = ['login 403', 'register 403'];

/** Responses that only a server with low quotas returns. */
const EXCEEDS_QUOTA = ['createSpace 409', 'joinSpace 409'];

/** Existing ids in a world, by the name of their parameter. */
export const existingIds: Readonly<Record<string, (world: World) => string>> = {
  space_id: ({ space }) => space.space_id,
  message_id: ({ message }) => message.message_id,
  user_id: ({ creator }) => creator.userId,
  session_id: ({ sessionId }) => sessionId,
};

/**
 * Returns a function that changes a transaction so that it provokes the expected response.
 * @param onSkip called for each response that cannot be provoked
 * @param isSelected returns whether to send the requests of an operation
 */
export function prepareWith(
  { world, specialWorlds }: Servers,
  onSkip: (response: DeclaredResponse, reason: string) => void,
  isSelected: (operationId: string) => boolean = () => true,
): (transaction: Transaction) => Promise<void> {
  return async (transaction) => {
    const response = findDeclaredResponse(transaction);
    const { id, operation, status, schema } = response;
    transaction.id = id;
    if (!isSelected(operation.operationId)) {
      transaction.skip = true;
      return;
    }
    // Whether a server has rate limits depends on its settings.
    for (const name of Object.keys(transaction.expected.headers)) {
      if (name.startsWith('RateLimit-')) delete transaction.expected.headers[name];
    }
    const skip = (reason: string) => {
      transaction.skip = true;
      onSkip(response, reason);
    };
    const special = specialWorlds[id] ?? specialWorlds[status];
    const obstacle = findObstacle(response, special !== undefined);
    if (obstacle !== undefined) return skip(obstacle);

    // By default, Dredd only checks the property names of the example.
    transaction.expected.bodySchema = schema;
    if (special) {
      const { hostname, port } = new URL(special.url);
      Object.assign(transaction, { host: hostname, port });
    }
    const target = special ?? world;
    await changeRequest(transaction, response, target);
    if (status !== '429') return;
    const isQuotaLow = special !== undefined;
    const isReached = await reachLimit(transaction, target, isQuotaLow);
    // With a low quota, the missing 429 is a failure.
    if (!isReached && !isQuotaLow) {
      skip(`the server has no limit of less than ${MAX_REQUESTS_TO_LIMIT} requests`);
    }
  };
}

/**
 * Returns why no request can provoke a response; undefined if one can.
 * @param isSpecial whether a server or account is prepared for this response
 */
function findObstacle(response: DeclaredResponse, isSpecial: boolean): string | undefined {
  const { id, status } = response;
  if (status === '408') return 'Dredd cannot send a request slowly';
  if (isSpecial) return undefined;
  if (DECIDED_BY_OPERATOR.includes(id)) {
    return 'only the operator can suspend an account or close registration';
  }
  if (status === '500' || status === '503') return 'a request cannot make a working server fail';
  if (EXCEEDS_QUOTA.includes(id)) return 'using up this quota takes too many requests';
  if (status === '429' && isLimitShared(response)) {
    return 'reaching this limit would block other users at the same IP address';
  }
  if (status === '429' && response.operation.isOwnRead) {
    return 'reaching this limit would block the other checks';
  }
  return undefined;
}

/** Changes the example request so that it provokes the response. */
async function changeRequest(
  transaction: Transaction,
  response: DeclaredResponse,
  world: World,
): Promise<void> {
  const { id, operation, status } = response;
  replaceIds(transaction, response, world);
  // Throws MissingOperation if the items of the list could not be created.
  requiredItems[id]?.(world);
  // The request for a 401 gets another token, so it needs no account.
  if (operation.authentication !== 'none' && status !== '401')
    setToken(transaction, world.creator.token);
  await (changes[id] ?? changesByStatus[status])?.(transaction, world);
}

function findDeclaredResponse({ request, expected, origin }: Transaction): DeclaredResponse {
  const response = declaredResponses.find(
    ({ operation: { method, path }, status, type }) =>
      method === request.method &&
      path === origin.resourceName &&
      status === expected.statusCode &&
      type === expected.headers['Content-Type'],
  );
  if (!response) throw new Error(`The contract has no ${request.method} ${origin.resourceName}`);
  return response;
}

/**
 * Replaces example ids with existing, unknown or malformed ones, depending on the status. Sets `limit` to 1, or to 0
 * for a 400.
 */
function replaceIds(transaction: Transaction, { status }: DeclaredResponse, world: World): void {
  const { request } = transaction;
  const isPathInvalid = status === '400' && request.body === '';
  for (const [name, idIn] of Object.entries(existingIds)) {
    const example = parameterExamples.get(name);
    if (example === undefined) throw new Error(`The contract has no parameter ${name}`);
    const body = request.body.toString();
    // Creating the data of other ids may have failed.
    if (!transaction.fullPath.includes(example) && !body.includes(example)) continue;
    const id = status === '404' ? UNKNOWN_ID : isPathInvalid ? '~' : idIn(world);
    replaceInPath(transaction, example, id);
    request.body = body.replace(example, id);
  }
  // Each list has two items and therefore a link to a next page.
  replaceInPath(transaction, 'limit=20', isPathInvalid ? 'limit=0' : 'limit=1');
}

/** Returns whether all callers with the same IP address share the operation's rate limit. */
function isLimitShared({ operation: { isPublicRead, operationId } }: DeclaredResponse): boolean {
  return isPublicRead || operationId === 'register';
}

/**
 * Repeats a request until it gets 429. Resolves to whether it did.
 * @param isQuotaLow whether to continue after a response without RateLimit headers; quotas of accounts send none
 */
async function reachLimit(
  { request, fullPath }: Transaction,
  { url, fetch }: World,
  isQuotaLow: boolean,
): Promise<boolean> {
  const { method, headers } = request;
  const body = request.body.length > 0 ? request.body : null;
  for (let i = 0; i < MAX_REQUESTS_TO_LIMIT; i += 1) {
    const response = await fetch(new URL(fullPath, url), { method, headers, body });
    await response.arrayBuffer();
    if (response.status === 429) return true;
    if (!isQuotaLow && !response.headers.has('ratelimit-limit')) return false;
  }
  return false;
}
