import { appendFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { closedContract } from '../../verification/contract.ts';

/** A request and its response, as seen by a client. */
export interface Exchange {
  method: string;
  url: string;
  /** The JSON text of the request body; undefined without a body and for other types. */
  requestBody?: string | undefined;
  requestType?: string | undefined;
  status: number;
  headers: Headers;
  body: string;
}

interface Media {
  schema: object;
}
interface Response {
  'x-problem-codes'?: string[];
  headers?: Record<string, { required?: boolean }>;
  content?: Record<string, Media>;
}
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, Response>;
}

/**
 * Environment variable: the folder in which every process of a test run records the statuses and codes it has
 * validated.
 */
export const STATUSES_FOLDER = 'STATUSES_FOLDER';

const contract = resolveReferences(closedContract());
const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false });
(addFormats as unknown as (ajv: Ajv) => void)(ajv);
ajv.addFormat('binary', true);
const coercingAjv = new Ajv({ strict: false, coerceTypes: true });
(addFormats as unknown as (ajv: Ajv) => void)(coercingAjv);
const knownCodes: string[] =
  contract.components.schemas.Problem.properties.code['x-extensible-enum'];
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
  return Object.values(contract.paths as Record<string, Record<string, Operation>>).flatMap(
    (item) =>
      Object.values(item)
        .filter((operation) => operation.operationId)
        .flatMap(({ operationId, responses }) =>
          Object.entries(responses).map(([status, response]): [string, Response] => [
            `${operationId} ${status}`,
            response,
          ]),
        ),
  );
}

/**
 * Validates an exchange against the contract. Status, type, headers and body of the response must be declared, and an
 * accepted request must be valid. Outside the contract (`/docs`, avatars, unknown paths), errors must be problem
 * documents.
 * @throws Error that describes the violation
 */
export function validateExchange(exchange: Exchange): void {
  const { pathname, searchParams } = new URL(exchange.url);
  const found = findOperation(exchange.method, pathname);
  const type = exchange.headers.get('content-type') ?? '';
  const violation = (message: string) =>
    new Error(
      `${exchange.method} ${pathname} -> ${exchange.status}: ${message}\n${exchange.body.slice(0, 500)}`,
    );

  if (!found) {
    if (exchange.status >= 400) {
      const error = errorOf(contract.components.schemas.Problem, JSON.parse(exchange.body));
      if (type !== 'application/problem+json' || error) {
        throw violation(`not a problem document: ${type} ${error}`);
      }
      const { code } = JSON.parse(exchange.body);
      if (!knownCodes.includes(code)) throw violation(`the code ${code} is not declared`);
    }
    return;
  }

  const { operation, parameters } = found;
  const response = operation.responses[exchange.status];
  if (!response) throw violation('the status is not declared');
  for (const [name, { required }] of Object.entries(response.headers ?? {})) {
    if (required && !exchange.headers.has(name)) throw violation(`the header ${name} is missing`);
  }
  const { operationId } = operation;
  if (exchange.method !== 'HEAD') {
    const media = response.content?.[type];
    if (!media) throw violation(`the type ${type} is not declared`);
    const body = JSON.parse(exchange.body);
    const error = errorOf(media.schema, body);
    if (error) throw violation(error);
    const { 'x-problem-codes': codes } = response;
    if (exchange.status >= 400) {
      if (!codes?.includes(body.code)) throw violation(`the code ${body.code} is not declared`);
      record(`${operationId} ${exchange.status} ${body.code}`);
    }
  }
  if (exchange.status < 400) {
    const error = requestError(operation, parameters, searchParams, exchange);
    if (error) throw violation(`accepted an invalid request: ${error}`);
  }
  record(`${operationId} ${exchange.status}`);
}

function requestError(
  { parameters = [], requestBody }: Operation,
  path: Record<string, string>,
  query: URLSearchParams,
  { requestBody: text, requestType }: Exchange,
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
  if (requestBody?.content['application/json']) {
    if (text === undefined) return requestBody.required ? 'the body is missing' : undefined;
    if (requestType?.split(';')[0] !== 'application/json') {
      return `the body has the type ${requestType}`;
    }
    return errorOf(requestBody.content['application/json'].schema, JSON.parse(text));
  }
  return undefined;
}

function findOperation(method: string, pathname: string) {
  const paths = Object.entries(contract.paths as Record<string, Record<string, Operation>>)
    // Templates with fewer parameters are more specific.
    .sort(([a], [b]) => a.split('{').length - b.split('{').length);
  for (const [template, item] of paths) {
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
    const values = new RegExp(`^${template.replace(/\{\w+\}/g, '([^/]*)')}$`)
      .exec(pathname)
      ?.slice(1);
    if (!values) continue;
    const operation = item[(method === 'HEAD' ? 'GET' : method).toLowerCase()];
    if (!operation) return undefined;
    const shared = (item as unknown as Operation).parameters ?? [];
    return {
      operation: { ...operation, parameters: [...shared, ...(operation.parameters ?? [])] },
      parameters: Object.fromEntries(names.map((name, i) => [name, decode(values[i] ?? '')])),
    };
  }
  return undefined;
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
    validate = ajv.compile(schema);
    validators.set(schema, validate);
  }
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

/** Returns a validator that coerces the text of a parameter to its declared type. */
function parameterValidator(schema: object): ValidateFunction {
  let validate = parameterValidators.get(schema);
  if (!validate) {
    validate = coercingAjv.compile({ type: 'object', properties: { value: schema } });
    parameterValidators.set(schema, validate);
  }
  return validate;
}

function record(line: string): void {
  const folder = process.env[STATUSES_FOLDER];
  if (folder) appendFileSync(`${folder}/${process.pid}`, `${line}\n`);
}

/** Replaces every `$ref` with its target. The contract has no cycles. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
function resolveReferences(root: any): any {
  // biome-ignore lint/suspicious/noExplicitAny: any part of an OpenAPI document
  const resolve = (node: any): any => {
    if (Array.isArray(node)) return node.map(resolve);
    if (typeof node !== 'object' || node === null) return node;
    if (typeof node.$ref === 'string') {
      const target = node.$ref
        .slice(2)
        .split('/')
        // biome-ignore lint/suspicious/noExplicitAny: any part of an OpenAPI document
        .reduce((at: any, key: string) => at[key], root);
      return resolve(target);
    }
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolve(value)]));
  };
  return resolve(root);
}
