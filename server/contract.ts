import { readFileSync } from 'node:fs';

/** An operation of `openapi.yaml`, without its schemas. */
export interface Operation {
  operationId: string;
  /** In upper case. */
  method: string;
  /** As in the contract: `/api/spaces/{space_id}`. */
  path: string;
  /** Whether an access token is required, accepted or ignored. */
  authentication: 'required' | 'optional' | 'none';
  /** The content type of the request body. Null if the operation has no request body. */
  bodyType: string | null;
  isBodyRequired: boolean;
  /** Whether the operation has query parameters. Otherwise the query string is ignored. */
  hasQueryParameters: boolean;
  /** Whether the operation is a GET that does not require an access token. */
  isPublicRead: boolean;
}

interface Contract {
  info: { version: string; description: string };
  security?: object[];
  servers: { url: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: {
    parameters: Record<string, ParameterObject>;
    schemas: Record<string, ContractSchema | { $ref: string }>;
  };
}

/** The keywords of a schema that the server reads. */
interface ContractSchema {
  properties?: Record<string, ContractSchema | { $ref: string }>;
  items?: ContractSchema;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
}

interface ParameterObject {
  in: string;
}

interface OperationObject {
  operationId: string;
  security?: object[];
  parameters?: (ParameterObject | { $ref: string })[];
  requestBody?: { required?: boolean; content: Record<string, unknown> };
  responses: object;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

/** The content of `openapi.yaml`. */
export const contractText = readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8');

const contract = JSON.parse(
  readFileSync(new URL('../generated/openapi.json', import.meta.url), 'utf8'),
) as Contract;

/** The version of the contract, which is also the version of the service. */
export const version = contract.info.version;

/** Returns a copy of the contract that the caller may change. */
export function copyContract(): Contract {
  return structuredClone(contract);
}

/**
 * Returns the text of the contract for the server at a URL. All lines except those of `servers` and the introduction
 * are as in the file.
 * @param introduction Markdown, put before the description of the service
 */
export function contractTextFor(url: string, introduction = ''): string {
  const introductionLines = introduction && `${introduction.replace(/^(?=.)/gm, '    ')}\n\n`;
  return contractText
    .replace(/^servers:\n(?: .*\n)+/m, () => `servers:\n  - url: ${JSON.stringify(url)}\n`)
    .replace(/^ {2}description: \|\n/m, (line) => line + introductionLines);
}

export const operations: readonly Operation[] = Object.entries(contract.paths).flatMap(
  ([path, item]) =>
    Object.entries(item)
      .filter(([key]) => METHODS.includes(key))
      .map(([method, operation]) => readOperation(path, method, operation)),
);

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
 * Returns a schema of the contract's components, or the schema of one of its properties.
 * @throws Error if the contract has none
 */
export function componentSchema(name: string, property?: string): ContractSchema {
  const schema = dereference(contract.components.schemas[name]);
  const found = property === undefined ? schema : dereference(schema?.properties?.[property]);
  if (!found) throw new Error(`The contract has no schema ${name} ${property ?? ''}`);
  return found;
}

function dereference(schema?: ContractSchema | { $ref: string }): ContractSchema | undefined {
  if (!schema || !('$ref' in schema)) return schema;
  return componentSchema(schema.$ref.replace('#/components/schemas/', ''));
}

function readOperation(path: string, method: string, operation: OperationObject): Operation {
  const authentication = readAuthentication(operation.security ?? contract.security ?? []);
  const { requestBody, parameters = [] } = operation;
  return {
    operationId: operation.operationId,
    method: method.toUpperCase(),
    path,
    authentication,
    bodyType: Object.keys(requestBody?.content ?? {})[0] ?? null,
    isBodyRequired: requestBody?.required ?? false,
    hasQueryParameters: parameters.some((each) => resolveParameter(each)?.in === 'query'),
    isPublicRead: method === 'get' && authentication !== 'required',
  };
}

/** The security requirements of an operation are alternatives. An empty one makes authentication optional. */
function readAuthentication(security: object[]): Operation['authentication'] {
  if (security.length === 0) return 'none';
  const isOptional = security.some((requirement) => Object.keys(requirement).length === 0);
  return isOptional ? 'optional' : 'required';
}

function resolveParameter(
  parameter: ParameterObject | { $ref: string },
): ParameterObject | undefined {
  if (!('$ref' in parameter)) return parameter;
  const name = parameter.$ref.replace('#/components/parameters/', '');
  return contract.components.parameters[name];
}
