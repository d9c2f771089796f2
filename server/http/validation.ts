import { Ajv, type ErrorObject, type Options } from 'ajv';
import type { FastifyError, FastifySchemaCompiler, onRequestAsyncHookHandler } from 'fastify';
import { EMAIL_PATTERN } from '../accounts/email.ts';
import type { Pointer } from '../errors.ts';
import { escapePointer } from '../text/storable.ts';
import { HttpProblem } from './problems.ts';

const options: Options = {
  allErrors: true,
  removeAdditional: false,
  useDefaults: true,
  keywords: ['example'],
  formats: { email: EMAIL_PATTERN },
};

/** Bodies say what they mean: a number is no username. */
const bodies = new Ajv({ ...options, coerceTypes: false });
/**
 * Parameters arrive as text whatever their type. `1e400` becomes Infinity, which strict numbers would let past every
 * bound.
 */
const parameters = new Ajv({ ...options, coerceTypes: true, strictNumbers: false });

export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) =>
  (httpPart === 'body' ? bodies : parameters).compile(schema);

/** More than this many faults at once help nobody. */
const MOST_FAULTS = 20;

/** Turns a validation error into a problem that points at each invalid value. Undefined for other errors. */
export function explainValidation(error: unknown): HttpProblem | undefined {
  const { validation, validationContext: part } = error as FastifyError & {
    validationContext?: string;
  };
  if (!validation) return undefined;
  const pointers = (validation as ErrorObject[])
    .slice(0, MOST_FAULTS)
    .map((fault) => point(fault, part));
  return new HttpProblem('invalid_request', `The request is not valid: ${summary(pointers)}`, {
    pointers,
  });
}

function point({ keyword, instancePath, params }: ErrorObject, part = 'body'): Pointer {
  let path = instancePath;
  if (keyword === 'required') path += `/${params.missingProperty}`;
  if (keyword === 'additionalProperties') path += `/${escapePointer(params.additionalProperty)}`;
  const message = messages[keyword]?.(params) ?? 'is not valid';
  const name = path.slice(1);
  if (part === 'querystring') return { pointer: `?${name}`, message };
  if (part === 'params') return { pointer: `{${name}}`, message };
  return { pointer: path, message };
}

/** What each keyword of the contract's schemas demands, for people. */
const messages: Record<string, (params: ErrorObject['params']) => string> = {
  required: () => 'is missing',
  additionalProperties: () => 'is not known here',
  type: ({ type }) => `must be ${types[type] ?? `of type ${type}`}`,
  enum: ({ allowedValues }) => `must be one of ${allowedValues.join(', ')}`,
  minLength: ({ limit }) => `must have at least ${many(limit, 'character')}`,
  maxLength: ({ limit }) => `may have at most ${many(limit, 'character')}`,
  minItems: ({ limit }) => `must have at least ${many(limit, 'item')}`,
  maxItems: ({ limit }) => `may have at most ${many(limit, 'item')}`,
  minProperties: ({ limit }) => `must have at least ${many(limit, 'field')}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `may be at most ${limit}`,
  format: ({ format }) => `must be ${format === 'email' ? 'an e-mail address' : `a ${format}`}`,
  // The contract has one pattern, that of ids.
  pattern: () => 'may have letters from A to Z, digits, - and _ only',
};

const types: Record<string, string> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

function many(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

function summary(pointers: Pointer[]): string {
  const name = (pointer: string) => pointer.replace(/^[/?{]|\}$/g, '') || 'the body';
  return `${pointers.map(({ pointer, message }) => `${name(pointer)} ${message}`).join('; ')}.`;
}

/**
 * Refuses query strings that are not percent-encoded UTF-8, where an operation reads them: their parser would take them
 * as they stand.
 */
export const refuseBrokenQuery: onRequestAsyncHookHandler = async ({ raw, routeOptions }) => {
  if (!routeOptions.config.operation?.takesQuery) return;
  const query = raw.url?.replace(/^[^?#]*/, '') ?? '';
  try {
    decodeURIComponent(query);
  } catch {
    throw new HttpProblem(
      'invalid_request',
      'The query string is not valid percent-encoded UTF-8.',
      {
        pointers: [{ pointer: '?', message: 'is not valid percent-encoded UTF-8' }],
      },
    );
  }
};
