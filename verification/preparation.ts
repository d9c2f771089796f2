import {
  contract,
  type Operation,
  operations,
  resolveReference,
  type Schema,
} from '../server/contract.ts';
import { type Changes, changes, changesByStatus } from './changes.ts';
import { type DeclaredResponse, declaredResponses } from './declared-responses.ts';
import type { Transaction } from './dredd.ts';
import { exampleRequest, inputNamesOf } from './requests.ts';
import { existingIds, existingItems, type Servers, type World } from './world.ts';

/** Maximum number of requests to reach a rate limit. */
const MAX_REQUESTS_TO_LIMIT = 200;

/** Responses that depend on a decision of the operator. */
const DECIDED_BY_OPERATOR = [
  'login 403',
  'register 403',
  ...operations
    .filter(({ responses }) => responses[403]?.['x-problem-codes']?.[0] === 'email_not_verified')
    .map(({ operationId }) => `${operationId} 403`),
];

/** Responses of a server that sends mail. */
const NEEDS_MAIL = [
  'changeEmail 202',
  'changeEmail 403',
  'changeEmail 409',
  'changeEmail 429',
  'requestEmailVerification 202',
  'requestEmailVerification 429',
  'requestPasswordReset 202',
  'requestPasswordReset 429',
];

/** Responses of a server that sends no mail. */
const NEEDS_NO_MAIL = ['requestEmailVerification 403', 'requestPasswordReset 403'];

/** Responses to the token of a mail. */
const NEEDS_TOKEN = ['resetPassword 200', 'verifyEmail 200', 'verifyEmail 409'];

/** Errors of operations that use neither the database nor the avatar storage. */
const NEVER_FAILS = ['getServer 500', 'getServer 503'];

/** Responses that only a server with low quotas returns. */
const EXCEEDS_QUOTA = ['createSpace 409', 'createToken 409', 'joinSpace 409'];

/** The item of lists that `existingItems` does not have. */
const existingItem = ({ space }: World) => space;

/**
 * Returns a function that changes a transaction so that it provokes the expected response.
 * @param onSkip called for each response that cannot be provoked
 * @param isWanted returns whether to send the request for a response
 */
export function prepareWith(
  { world, specialWorlds }: Servers,
  onSkip: (response: DeclaredResponse, reason: string) => void,
  isWanted: (id: string) => boolean = () => true,
): (transaction: Transaction) => Promise<void> {
  return async (transaction) => {
    const response = findDeclaredResponse(transaction);
    const { id, status, schema } = response;
    transaction.id = id;
    if (!isWanted(id)) {
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
    const obstacle = findObstacle(response, special ?? world, special !== undefined);
    if (obstacle !== undefined) return skip(obstacle);

    // By default, Dredd only checks the property names of the example.
    if (schema) transaction.expected.bodySchema = schema;
    if (special) {
      const { hostname, port } = new URL(special.url);
      Object.assign(transaction, { host: hostname, port });
    }
    const target = special ?? world;
    await changeRequest(transaction, response, target);
    if (status !== '429') return;
    const isQuotaLow = special !== undefined;
    const unreached = await reachLimit(transaction, target, isQuotaLow);
    // With a low quota, the missing 429 is a failure.
    if (unreached !== undefined && !isQuotaLow) skip(unreached);
  };
}

/**
 * Returns why no request can provoke a response; undefined if one can.
 * @param isSpecial whether a server or account is prepared for this response
 */
function findObstacle(
  response: DeclaredResponse,
  world: World,
  isSpecial: boolean,
): string | undefined {
  const { id, status } = response;
  if (status === '408') return 'Dredd cannot send a request slowly';
  if (NEVER_FAILS.includes(id)) return 'a request cannot make a working server fail';
  if (NEEDS_MAIL.includes(id) && !world.sendsMail) return 'the server sends no mail';
  if (NEEDS_NO_MAIL.includes(id) && world.sendsMail) return 'the server sends mail';
  if (NEEDS_TOKEN.includes(id) && !world.receiveToken)
    return 'only the recipient of a mail has a token';
  if (isSpecial) return undefined;
  if (DECIDED_BY_OPERATOR.includes(id)) {
    return 'only the operator can suspend an account, close registration or require verified addresses';
  }
  if (status === '500' || status === '503') return 'a request cannot make a working server fail';
  if (id === 'sendMessage 409' || id === 'editMessage 409') {
    return 'the check sends no requests at the same time';
  }
  if (id === 'appointModerator 409') return 'it takes too many accounts';
  if (EXCEEDS_QUOTA.includes(id)) return 'using up this quota takes too many requests';
  if (status === '429' && isLimitShared(response)) {
    return 'reaching this limit would block other users at the same IP address';
  }
  if (status === '429' && response.operation.isOwnRead) {
    return 'reaching this limit would block the other checks';
  }
  return undefined;
}

/** Replaces the example request with one that provokes the response. */
async function changeRequest(
  transaction: Transaction,
  response: DeclaredResponse,
  world: World,
): Promise<void> {
  const { id, operation, status } = response;
  const { request } = transaction;
  const values = valuesFor(response, world);
  // Throws MissingOperation if the items could not be created. Otherwise, the check would run and fail, because the
  // request for a list names none of its items.
  const itemSchema = itemSchemaOf(operation);
  if (status === '200' && itemSchema !== undefined) {
    (existingItems[itemSchema] ?? existingItem)(world);
  }
  const change: Changes = (await (changes[id] ?? changesByStatus[status])?.(world)) ?? {};

  const { url, init } = exampleRequest(operation, { ...values, ...change.parameters }, true);
  transaction.fullPath = new URL(world.url).pathname.replace(/\/$/, '') + url;
  const body = change.form ?? init.body ?? '';
  if (typeof body === 'string') {
    const fields = body && { ...JSON.parse(body), ...change.fields };
    request.body = fields && JSON.stringify(fields);
  } else {
    const encoded = new Response(body);
    request.headers['Content-Type'] = encoded.headers.get('content-type') as string;
    request.body = Buffer.from(await encoded.arrayBuffer());
  }
  // A change with a token, such as that for a 401, needs no account of `creator`.
  const isAuthenticated = operation.authentication !== 'none';
  const token = change.token ?? (isAuthenticated && world.creator.token);
  if (token) request.headers.Authorization = `Bearer ${token}`;
  Object.assign(request.headers, change.headers);
}

/** Returns the name of the schema of a list's items, or undefined for other operations. */
export function itemSchemaOf({ responses }: Operation): string | undefined {
  const schema = responses[200]?.content?.['application/json']?.schema;
  if (schema === undefined) return undefined;
  const page = resolveReference<Schema>(contract, schema);
  // The two searches return an array.
  const { items } = page.properties?.items ?? page;
  return items?.$ref?.split('/').at(-1);
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
 * Returns values that replace examples: ids that exist, are unknown (for a 404) or malformed (for a 400 without a body),
 * and limits.
 */
function valuesFor({ operation, status }: DeclaredResponse, world: World): Record<string, string> {
  const isPathInvalid = status === '400' && operation.bodyType === null;
  const values: Record<string, string> = {};
  for (const name of inputNamesOf(operation)) {
    const idIn = existingIds[name];
    if (idIn) values[name] = status === '404' ? 'nothing' : isPathInvalid ? '~' : idIn(world);
    // Each list has two items and therefore a link to a next page.
    if (name === 'limit') values[name] = isPathInvalid ? '0' : '1';
  }
  return values;
}

/** Returns whether all callers with the same IP address share the operation's rate limit. */
function isLimitShared({ operation: { isPublicRead, operationId } }: DeclaredResponse): boolean {
  const shared = ['register', 'requestPasswordReset'];
  return isPublicRead || shared.includes(operationId);
}

/**
 * Repeats a request until it gets 429. Resolves to the reason if it does not.
 * @param isQuotaLow whether few requests use up the quotas
 */
async function reachLimit(
  { request, fullPath }: Transaction,
  { url, fetch }: World,
  isQuotaLow: boolean,
): Promise<string | undefined> {
  const { method, headers } = request;
  const body = request.body.length > 0 ? request.body : null;
  for (let i = 0; i < MAX_REQUESTS_TO_LIMIT; i += 1) {
    const response = await fetch(new URL(fullPath, url), { method, headers, body });
    await response.arrayBuffer();
    if (response.status === 429) return undefined;
    if (isQuotaLow) continue;
    if (!response.headers.has('ratelimit-limit')) {
      return 'the response has no RateLimit-Limit, so this limit is off';
    }
    if (response.headers.has('ratelimit-policy')) {
      return 'using up this quota takes too many requests';
    }
  }
  return `${MAX_REQUESTS_TO_LIMIT} requests did not reach the limit`;
}
