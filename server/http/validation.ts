import { Ajv, type ErrorObject, type Options } from 'ajv';
import type {
  FastifyError,
  FastifyRequest,
  FastifySchemaCompiler,
  onRequestAsyncHookHandler,
} from 'fastify';
import type { Pointer } from '../refusal.ts';
import { EMAIL_PATTERN } from '../users/email.ts';
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

/** Turns what validation found into a problem that points at each fault; leaves other errors as they are. */
export function explainValidation(error: unknown, _request: FastifyRequest): unknown {
  const { validation, validationContext: part } = error as FastifyError & {
    validationContext?: string;
  };
  if (!validation) return error;
  const pointers = (validation as ErrorObject[])
    .slice(0, MOST_FAULTS)
    .map((fault) => point(fault, part));
  return new HttpProblem('invalid_request', `The request is not valid: ${summary(pointers)}`, {
    pointers,
  });
}

function point(
  { keyword, instancePath, message = 'is not valid', params }: ErrorObject,
  part = 'body',
): Pointer {
  let path = instancePath;
  let text = message;
  if (keyword === 'required') [path, text] = [`${path}/${params.missingProperty}`, 'is missing'];
  if (keyword === 'additionalProperties')
    [path, text] = [`${path}/${params.additionalProperty}`, 'is not known here'];
  if (keyword === 'enum') text = `must be one of ${params.allowedValues.join(', ')}`;
  const name = path.slice(1);
  if (part === 'querystring') return { pointer: `?${name}`, message: text };
  if (part === 'params') return { pointer: `{${name}}`, message: text };
  return { pointer: path, message: text };
}

function summary(pointers: Pointer[]): string {
  return `${pointers.map(({ pointer, message }) => `${pointer || 'the body'} ${message}`).join('; ')}.`;
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
