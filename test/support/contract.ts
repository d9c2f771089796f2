import { appendFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { PROBLEM_STATUSES } from '../../generated/problem-codes.gen.ts';
import { findRoute, type Operation, type Response, readOperations } from '../../server/contract.ts';
import { closedContract } from '../../verification/contract.ts';
import { describeExchange, type Exchange, recordExchange } from './recent.ts';

export type { Exchange } from './recent.ts';

/**
 * Environment variable: the folder in which every process of a test run records the statuses and codes it has
 * validated.
 */
export const STATUSES_FOLDER = 'STATUSES_FOLDER';

const contract = closedContract();
const operations = new Map(readOperations(contract).map((each) => [each.operationId, each]));
const problemSchema = { $ref: '#/components/schemas/Problem' };
const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false });
(addFormats as unknown as (ajv: Ajv) => void)(ajv);
ajv.addFormat('binary', true);
const coercingAjv = new Ajv({ strict: false, coerceTypes: true });
(addFormats as unknown as (ajv: Ajv) => void)(coercingAjv);
const validators = new Map<object, ValidateFunction>();
const parameterValidators = new Map<object, ValidateFunction>();

/** Returns each declared status with its operation, such as `login 401`. */
export function declaredStatuses(): string[] {
  return declaredResponses().map(([status]) => status);
}

/** Returns every problem code that an operation declares, with its status: `login 401 credentials_incorrect`. */
export function declaredCodes(): string[] {
  return declaredResponses().flatMap(([status, { 'x-problem-codes': codes = [] }]) =>
    codes.map((code) => `${status} ${code}`),
  );
}

function declaredResponses(): [string, Response][] {
  return [...operations.values()].flatMap(({ operationId, responses }) =>
    Object.entries(responses).map(([status, response]): [string, Response] => [
      `${operationId} ${status}`,
      response,
    ]),
  );
}

/**
 * Validates an exchange against the contract. The response must have a declared status, type and body, and all required
 * headers. Every response has the id of its request. An accepted request must be valid. Outside the contract (`/docs`,
 * avatars, unknown paths), errors must be problem documents.
 * @throws Error that describes the violation
 */
export function validateExchange(exchange: Exchange): void {
  const { method, status, body } = exchange;
  const { pathname, searchParams } = new URL(exchange.url);
  const found = findOperation(method, pathname);
  recordExchange(exchange);
  const violation =
    requestIdError(exchange) ??
    (found
      ? (responseError(found.operation, exchange) ?? requestError(found, searchParams, exchange))
      : errorOutsideContract(exchange));
  if (violation) {
    const place = found ? `${found.operation.operationId} ${status}` : 'outside the contract';
    throw new Error(`${violation} (${place})\n${describeExchange(exchange)}`);
  }
  if (!found) return;
  const reached = `${found.operation.operationId} ${status}`;
  record(reached);
  if (status >= 400 && method !== 'HEAD') record(`${reached} ${JSON.parse(body).code}`);
}

/**
 * Sends a request as `fetch` does, and validates the exchange.
 * @throws Error that describes the violation
 */
export const validatedFetch: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const sent = request.clone();
  const response = await fetch(request);
  const type = request.headers.get('content-type') ?? undefined;
  const isJson = type?.startsWith('application/json');
  validateExchange({
    method: request.method,
    url: request.url,
    requestType: type,
    requestBody: isJson ? (await sent.text()) || undefined : undefined,
    status: response.status,
    headers: response.headers,
    body: await response.clone().text(),
  });
  return response;
};

/** Returns whether the response lacks the id of its request, or differs from it in the problem. */
function requestIdError({ method, status, headers, body }: Exchange): string | undefined {
  const id = headers.get('x-request-id');
  if (id === null) return 'the header X-Request-Id is missing';
  if (status < 400 || method === 'HEAD') return undefined;
  return JSON.parse(body).request_id === id ? undefined : 'request_id differs from X-Request-Id';
}

/** Returns how the response of an operation violates the contract, if it does. */
function responseError(
  { responses }: Operation,
  { method, status, headers, body }: Exchange,
): string | undefined {
  const response = responses[status];
  if (!response) return 'the status is not declared';
  for (const [name, { required }] of Object.entries(response.headers ?? {})) {
    if (required && !headers.has(name)) return `the header ${name} is missing`;
  }
  if (status < 400 && headers.has('ratelimit-limit') && !response.headers?.['RateLimit-Limit']) {
    return 'the headers RateLimit-* are not declared';
  }
  const type = headers.get('content-type') ?? '';
  if (!response.content) return body === '' && type === '' ? undefined : 'no body is declared';
  const media = response.content[type];
  if (!media) return `the type ${type} is not declared`;
  if (method === 'HEAD') return undefined;
  const content = JSON.parse(body);
  const error = errorOf(media.schema, content);
  if (error) return error;
  if (status >= 400 && !response['x-problem-codes']?.includes(content.code)) {
    return `the code ${content.code} is not declared`;
  }
  return undefined;
}

/** Returns how a response outside the contract is wrong, if it is. */
function errorOutsideContract({ method, status, headers, body }: Exchange): string | undefined {
  if (status < 400) return undefined;
  const type = headers.get('content-type');
  if (type !== 'application/problem+json') return `not a problem document: ${type}`;
  if (method === 'HEAD') return undefined;
  const problem = JSON.parse(body);
  const error = errorOf(problemSchema, problem);
  if (error) return `not a problem document: ${error}`;
  if (!(problem.code in PROBLEM_STATUSES)) return `the code ${problem.code} is not declared`;
  return undefined;
}

/** Returns how an accepted request violates the contract, if it does. */
function requestError(
  { operation, parameters }: { operation: Operation; parameters: Record<string, string> },
  query: URLSearchParams,
  exchange: Exchange,
): string | undefined {
  if (exchange.status >= 400) return undefined;
  const error = parameterError(operation, parameters, query) ?? bodyError(operation, exchange);
  return error && `accepted an invalid request: ${error}`;
}

function parameterError(
  { parameters }: Operation,
  path: Record<string, string>,
  query: URLSearchParams,
): string | undefined {
  for (const { name, in: location, required, schema } of parameters) {
    const value = location === 'path' ? path[name] : (query.get(name) ?? undefined);
    if (value === undefined) {
      if (required) return `${name} is missing`;
      continue;
    }
    const validate = parameterValidator(schema);
    if (!validate({ value })) return `${name} ${coercingAjv.errorsText(validate.errors)}`;
  }
  return undefined;
}

function bodyError(
  { requestBody: declared }: Operation,
  { requestBody, requestType }: Exchange,
): string | undefined {
  const media = declared?.content['application/json'];
  if (!media) return undefined;
  // `null` counts as no body.
  if (requestBody === undefined || (requestBody === 'null' && !declared?.required))
    return declared?.required ? 'the body is missing' : undefined;
  if (requestType?.split(';')[0] !== 'application/json') {
    return `the body has the type ${requestType}`;
  }
  return errorOf(media.schema, JSON.parse(requestBody));
}

function findOperation(method: string, pathname: string) {
  const route = findRoute(pathname);
  const open = route?.operationsOfPath.find(
    (each) => each.method === (method === 'HEAD' ? 'GET' : method),
  );
  const operation = operations.get(open?.operationId ?? '');
  if (!route || !operation) return undefined;
  const values = Object.entries(route.values).map(([name, value]) => [name, decode(value)]);
  return { operation, parameters: Object.fromEntries(values) as Record<string, string> };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function errorOf(schema: object, value: unknown): string | undefined {
  let validate = validators.get(schema);
  if (!validate) {
    // The target of references in the schema.
    validate = ajv.compile({ ...schema, components: contract.components });
    validators.set(schema, validate);
  }
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

/** Returns a validator that coerces the text of a parameter to its declared type. */
function parameterValidator(schema: object): ValidateFunction {
  let validate = parameterValidators.get(schema);
  if (!validate) {
    validate = coercingAjv.compile({
      type: 'object',
      properties: { value: schema },
      components: contract.components,
    });
    parameterValidators.set(schema, validate);
  }
  return validate;
}

function record(line: string): void {
  const folder = process.env[STATUSES_FOLDER];
  if (folder) appendFileSync(`${folder}/${process.pid}`, `${line}\n`);
}
