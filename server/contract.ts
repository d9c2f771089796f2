import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** What the server needs to know of an operation beyond its schemas, read off `openapi.yaml`. */
export interface Operation {
  operationId: string;
  method: string;
  /** As in the contract: `/api/spaces/{space_id}`. */
  path: string;
  /** Whether a token must, may or need not come with a request. */
  authentication: 'required' | 'optional' | 'none';
  /** The content type of its request body; null if it takes none. */
  bodyType: string | null;
  isBodyRequired: boolean;
  /** Whether it has parameters in the query string, which is not looked at otherwise. */
  takesQuery: boolean;
  /** Anyone may call it and nothing changes. */
  isPublicRead: boolean;
}

interface Document {
  info: { version: string };
  security?: object[];
  servers: { url: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: {
    parameters: Record<string, ParameterObject>;
    schemas: Record<string, ContractSchema | { $ref: string }>;
  };
}

/** The parts of a schema that bound its values. */
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
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

/** The contract's text. */
export const contractText = readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8');

const contract = parse(contractText) as Document;

/** The version of the contract, which is the service's. */
export const version = contract.info.version;

/** The contract as an object, new at each call: some who take it change it. */
export function copyContract(): Document {
  return structuredClone(contract);
}

export const operations: readonly Operation[] = Object.entries(contract.paths).flatMap(
  ([path, item]) =>
    Object.entries(item)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => {
        const security = operation.security ?? contract.security ?? [];
        const isOptional =
          security.length === 0 || security.some((each) => Object.keys(each).length === 0);
        return {
          operationId: operation.operationId,
          method: method.toUpperCase(),
          path,
          authentication: security.length === 0 ? 'none' : isOptional ? 'optional' : 'required',
          bodyType: Object.keys(operation.requestBody?.content ?? {})[0] ?? null,
          isBodyRequired: operation.requestBody?.required ?? false,
          takesQuery: (operation.parameters ?? []).some((each) => resolve(each)?.in === 'query'),
          isPublicRead: method === 'get' && isOptional,
        };
      }),
);

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

function resolve(parameter: ParameterObject | { $ref: string }): ParameterObject | undefined {
  if (!('$ref' in parameter)) return parameter;
  const name = parameter.$ref.replace('#/components/parameters/', '');
  return contract.components.parameters[name];
}
