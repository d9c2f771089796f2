import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifyError, FastifySchemaCompiler, onRequestAsyncHookHandler } from 'fastify';
import type { Pointer } from '../errors.ts';
import { quantity } from '../text/quantity.ts';
import { escapePointer } from '../text/storable.ts';
import { isPercentEncodedUtf8, malformedQuery } from './percent-encoding.ts';
import { type HttpProblem, invalidValues, KEYWORD_CODES } from './problems.ts';

/** Values are not coerced: a number is not a valid username. */
const validator = new Ajv({
  allErrors: true,
  // Errors contain the schema, which has the messages of patterns.
  verbose: true,
  removeAdditional: false,
  useDefaults: true,
  coerceTypes: false,
  keywords: ['example', 'x-pattern-message'],
  // These formats only choose types in generated clients, and hide input in forms. Bounds and patterns are keywords of
  // their own.
  formats: { int32: true, int64: true, password: true, 'date-time': true },
});

/**
 * Returns a validator that compiles the schema on first use, because compiling all schemas would double the time until
 * the server is ready.
 */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  let compiled: ValidateFunction | undefined;
  const validate = (value: unknown) => {
    compiled ??= validator.compile(httpPart === 'headers' ? withLowerCaseNames(schema) : schema);
    return compiled(value) || { error: compiled.errors ?? [] };
  };
  if (httpPart === 'body') return validate;
  const { properties } = schema as { properties: Record<string, { type?: string }> };
  const parsedNames = Object.keys(properties).filter((name) => properties[name]?.type !== 'string');
  return (parameters: Record<string, unknown>) => {
    for (const name of parsedNames) {
      const value = parameters[name];
      if (typeof value === 'string' && JSON_VALUE.test(value)) parameters[name] = JSON.parse(value);
    }
    return validate(parameters);
  };
};

/**
 * An integer or boolean in the notation of JSON. Parameters are strings, and the coercion of Ajv would also accept other
 * notations, such as `0x5`, `1e1` and ` 5`.
 */
const JSON_VALUE = /^(?:true|false|-?(?:0|[1-9]\d*))$/;

/** Node.js changes the names of headers to lower case. Fastify adapts schemas only to its own validator. */
function withLowerCaseNames(schema: object): object {
  const { properties } = schema as { properties: Record<string, object> };
  const renamed = Object.entries(properties).map(([name, each]) => [name.toLowerCase(), each]);
  return { ...schema, properties: Object.fromEntries(renamed) };
}

/** Returns a problem that points at each invalid value, or undefined if the error is not a validation error. */
export function explainValidation(error: unknown): HttpProblem | undefined {
  const { validation, validationContext } = error as FastifyError & { validationContext?: string };
  if (!validation) return undefined;
  const errors = validation as ErrorObject[];
  return invalidValues(errors.map((each) => pointerOf(each, validationContext)));
}

function pointerOf(
  { keyword, instancePath, params, parentSchema }: ErrorObject,
  context = 'body',
): Pointer {
  let path = instancePath;
  if (keyword === 'required') path += `/${params.missingProperty}`;
  if (keyword === 'additionalProperties') path += `/${escapePointer(params.additionalProperty)}`;
  const code = KEYWORD_CODES[keyword] ?? 'malformed';
  const message =
    MESSAGES[keyword]?.(params) ?? parentSchema?.['x-pattern-message'] ?? 'is invalid';
  const name = path.slice(1);
  if (context === 'querystring') return { in: 'query', pointer: name, code, message };
  if (context === 'params') return { in: 'path', pointer: name, code, message };
  if (context === 'headers') {
    const header = name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
    return { in: 'header', pointer: header, code, message };
  }
  return { pointer: path, code, message };
}

/** One message for each keyword that the schemas of the contract use, except `pattern`, whose schemas have their own. */
export const MESSAGES: Record<string, (params: ErrorObject['params']) => string> = {
  required: () => 'is missing',
  additionalProperties: () => 'is not a known field',
  type: ({ type }) => `must be ${TYPE_NAMES[type] ?? `of type ${type}`}`,
  enum: ({ allowedValues }) => `must be one of ${allowedValues.join(', ')}`,
  minLength: ({ limit }) => `must have at least ${quantity(limit, 'character')}`,
  maxLength: ({ limit }) => `must have at most ${quantity(limit, 'character')}`,
  minItems: ({ limit }) => `must have at least ${quantity(limit, 'item')}`,
  maxItems: ({ limit }) => `must have at most ${quantity(limit, 'item')}`,
  minProperties: ({ limit }) => `must have at least ${quantity(limit, 'field')}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
};

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

/**
 * Rejects query strings that are not percent-encoded UTF-8. Fastify would pass on malformed parts undecoded.
 * Operations without query parameters ignore the query string.
 */
export const rejectMalformedQuery: onRequestAsyncHookHandler = async ({ raw, routeOptions }) => {
  if (!routeOptions.config.operation?.hasQueryParameters) return;
  const query = raw.url?.replace(/^[^?#]*/, '') ?? '';
  if (!isPercentEncodedUtf8(query)) throw malformedQuery();
};
