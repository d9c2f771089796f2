import { readFileSync } from 'node:fs';
import type { Scope } from '../generated/types.gen.ts';

/** An OpenAPI 3.0 document, as far as this project reads it. */
export interface Contract {
  info: { version: string; description: string };
  security?: object[];
  tags: { name: string; description: string }[];
  servers: { url: string }[];
  paths: Record<string, PathItem>;
  components: Record<string, Record<string, object>> & { schemas: Record<string, Schema> };
}

/** The parts of an OpenAPI document that define its operations. */
export type Operations = Pick<Contract, 'paths' | 'security'> & Partial<Contract>;

interface PathItem {
  parameters?: (Parameter | Reference)[];
  [method: string]: unknown;
}

interface OperationObject {
  operationId: string;
  tags?: string[];
  'x-counts-as'?: string;
  'x-scope'?: Scope;
  security?: object[];
  parameters?: (Parameter | Reference)[];
  requestBody?: RequestBody | Reference;
  responses: Record<string, Response | Reference>;
}

interface Reference {
  $ref: string;
}

/** An operation of a contract, without references to components. Only its schemas can still contain some. */
export interface Operation {
  operationId: string;
  /** The first tag, in lower case. */
  tag: string;
  /** In upper case. */
  method: string;
  /** As in the contract: `/api/spaces/{space_id}`. */
  path: string;
  /** Whether an access token is required, accepted or ignored. */
  authentication: 'required' | 'optional' | 'none';
  /** The names of security schemes. A request must meet one of these lists. */
  security: readonly (readonly string[])[];
  /** The content type of the request body. Null if the operation has no request body. */
  bodyType: string | null;
  isBodyRequired: boolean;
  /** Whether the operation has query parameters. Otherwise the query string is ignored. */
  hasQueryParameters: boolean;
  /** Whether the operation is a GET that does not require an access token. */
  isPublicRead: boolean;
  /** Whether the operation is a GET that requires an access token. */
  isOwnRead: boolean;
  /** The scope that an access token of a program needs. Undefined if the operation accepts none. */
  scope: Scope | undefined;
  /** The quota per hour and day against which the operation counts, if any. */
  countsAs: string | undefined;
  /** Whether the operator can restrict the operation to accounts with a verified email address. */
  needsVerifiedEmail: boolean;
  /** Those that all operations of the path share are first. */
  parameters: readonly Parameter[];
  requestBody: RequestBody | undefined;
  responses: Readonly<Record<string, Response>>;
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  style?: string;
  explode?: boolean;
  schema: Schema;
  example: string;
}

export interface RequestBody {
  required?: boolean;
  content: Record<string, Media>;
}

export interface Response {
  'x-problem-codes'?: string[];
  headers?: Record<string, Header>;
  content?: Record<string, Media>;
  links?: Record<string, Link>;
}

/** How another operation can use the response. */
export interface Link {
  operationId: string;
  /** Runtime expressions by parameter, such as `$response.body#/space_id`. */
  parameters: Record<string, string>;
}

export interface Header {
  example?: unknown;
  required?: boolean;
  schema?: Schema;
}

export interface Media {
  schema: Schema;
  example?: object;
  /** Replaces `example` if there are several. */
  examples?: Record<string, { value: object }>;
}

/** A schema, or a reference to one. */
export interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  enum?: unknown[];
  pattern?: string;
  /** Set if the server checks the pattern before it calls a handler. Otherwise a domain function checks the rule. */
  'x-pattern-message'?: string;
  'x-problem-statuses'?: Record<string, number>;
  /** The known values of a text in responses. Later versions can return others. */
  'x-extensible-enum'?: string[];
  [keyword: string]: unknown;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** The contract. Do not change it. */
export const contract: Contract = JSON.parse(
  readFileSync(new URL('../generated/openapi.json', import.meta.url), 'utf8'),
);

/** The version of the contract, which is also the version of the service. */
export const version = contract.info.version;

/** The operations of the contract, in its order. */
export const operations: readonly Operation[] = readOperations(contract);

/** Returns the operations of an OpenAPI document, in its order. */
export function readOperations(document: Operations): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => METHODS.includes(key))
      .map((method) => readOperation(document, path, method)),
  );
}

function readOperation(document: Operations, path: string, method: string): Operation {
  const item = document.paths[path] as PathItem;
  const operation = item[method] as OperationObject;
  const resolve = <T extends object>(value: T | Reference) => resolveReference(document, value);
  const resolveAll = <T extends object>(values: Record<string, T | Reference> = {}) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, resolve(value)]));
  const security = operation.security ?? document.security ?? [];
  const authentication = readAuthentication(security);
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve);
  const requestBody = operation.requestBody && resolve(operation.requestBody);
  const responses = Object.entries(resolveAll(operation.responses)).map(([status, response]) => [
    status,
    { ...response, headers: resolveAll(response.headers) },
  ]) as [string, Response][];
  return {
    operationId: operation.operationId,
    tag: operation.tags?.[0]?.toLowerCase() ?? '',
    method: method.toUpperCase(),
    path,
    authentication,
    security: security.length === 0 ? [[]] : security.map((each) => Object.keys(each)),
    bodyType: Object.keys(requestBody?.content ?? {})[0] ?? null,
    isBodyRequired: requestBody?.required ?? false,
    hasQueryParameters: parameters.some((each) => each.in === 'query'),
    isPublicRead: method === 'get' && authentication !== 'required',
    isOwnRead: method === 'get' && authentication === 'required',
    scope: operation['x-scope'],
    countsAs: operation['x-counts-as'],
    needsVerifiedEmail: responses.some(
      ([status, { 'x-problem-codes': codes = [] }]) =>
        status === '403' && codes.includes('email_not_verified'),
    ),
    parameters,
    requestBody,
    responses: Object.fromEntries(responses),
  };
}

/** The security requirements of an operation are alternatives. An empty one makes authentication optional. */
function readAuthentication(security: object[]): Operation['authentication'] {
  if (security.length === 0) return 'none';
  const isOptional = security.some((requirement) => Object.keys(requirement).length === 0);
  return isOptional ? 'optional' : 'required';
}

/**
 * Returns the component that a reference names, such as `#/components/schemas/Id`. Returns other values unchanged.
 * @throws Error if there is no such component
 */
export function resolveReference<T extends object>(document: Operations, value: T | Reference): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T;
  const [, , kind = '', name = ''] = value.$ref.split('/');
  const target = document.components?.[kind]?.[name];
  if (!target) throw new Error(`Cannot resolve $ref ${value.$ref}.`);
  return resolveReference(document, target as T | Reference);
}

/**
 * Returns a schema of the contract's components, or the schema of one of its properties.
 * @throws Error if the contract has none
 */
export function componentSchema(name: string, property?: string): Schema {
  const schema = resolveReference<Schema>(contract, { $ref: `#/components/schemas/${name}` });
  if (property === undefined) return schema;
  const found = schema.properties?.[property];
  if (!found) throw new Error(`The schema ${name} has no property ${property}.`);
  return resolveReference(contract, found);
}

/** The paths, those with fewer parameters first: `/api/spaces/{space_id}` also matches `/api/spaces/search`. */
const routes = [...Map.groupBy(operations, ({ path }) => path)]
  .map(([path, operationsOfPath]) => ({
    names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string),
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]*)')}$`),
    operationsOfPath,
  }))
  .sort((a, b) => a.names.length - b.names.length);

/** The operations of a path, and the values of its parameters as they are in the path. */
export interface Route {
  operationsOfPath: readonly Operation[];
  values: Readonly<Record<string, string>>;
}

/** Returns what the contract declares for the path of a request. */
export function findRoute(pathname: string): Route | undefined {
  for (const { names, pattern, operationsOfPath } of routes) {
    const values = pattern.exec(pathname)?.slice(1);
    if (!values) continue;
    return {
      operationsOfPath,
      values: Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])),
    };
  }
  return undefined;
}

/** Returns the operation of a request, or undefined if the contract has none. */
export function findOperation(method: string, pathname: string): Operation | undefined {
  return findRoute(pathname)?.operationsOfPath.find((each) => each.method === method);
}

/**
 * Returns the values that a path parameter must not have, because they are fixed segments at its place in other paths.
 * Fixed segments take precedence: `GET /api/spaces/search` never returns a space with the id `search`.
 */
export function reservedValues(parameter: string): ReadonlySet<string> {
  const paths = Object.keys(contract.paths).map((path) => path.split('/'));
  const isFixed = (segment: string | undefined) => !segment?.startsWith('{');
  const name = `{${parameter}}`;
  const withParameter = paths.filter((path) => path.includes(name));
  const reserved = withParameter.flatMap((path) => {
    const before = path.slice(0, path.indexOf(name));
    return paths
      .filter((other) =>
        before.every((each, i) => each === other[i] || !isFixed(each) || !isFixed(other[i])),
      )
      .flatMap((other) => other[before.length] ?? [])
      .filter(isFixed);
  });
  return new Set(reserved);
}

/**
 * Returns the contract for the server at a URL.
 * @param introduction Markdown, put before the description of the service
 */
export function contractFor(url: string, introduction = ''): Contract {
  const description = [introduction, contract.info.description].filter(Boolean).join('\n\n');
  return { ...contract, info: { ...contract.info, description }, servers: [{ url }] };
}

/** The content of `openapi.yaml`. */
export const contractText = readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8');

/**
 * Returns the contract for the server at a URL as YAML. All lines except those of `servers` and the introduction
 * are as in the file.
 * @param introduction see `contractFor`
 */
export function contractTextFor(url: string, introduction = ''): string {
  const introductionLines = introduction && `${introduction.replace(/^(?=.)/gm, '    ')}\n\n`;
  return contractText
    .replace(/^servers:\n(?: .*\n)+/m, () => `servers:\n  - url: ${JSON.stringify(url)}\n`)
    .replace(/^ {2}description: \|\n/m, (line) => line + introductionLines);
}
