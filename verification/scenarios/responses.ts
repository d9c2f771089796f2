import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { contract, type Header, type Operation, type Schema } from '../contract.ts';

const ajv = new Ajv({ strict: false, formats: { binary: true, password: true } });
(addFormats as unknown as (ajv: Ajv) => void)(ajv);
// Stricter than RFC 3339: the contract says that times are in UTC, with milliseconds and `Z`.
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const validators = new Map<object, ValidateFunction>();

/** Rules for the values of headers that their schemas cannot express. */
const headerPatterns: Record<string, RegExp> = {
  etag: /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/,
  link: /^<[^>]+>; ?rel="?next"?$/,
  'www-authenticate': /^Bearer\b/,
};

/** Returns how a response differs from what the contract declares for its operation, if it does. */
export function explainViolation(
  operation: Operation,
  response: Response,
  text: string,
): string | undefined {
  const { status, headers } = response;
  const declared = operation.responses[status];
  if (!declared) return 'the status is not declared';
  const requestId = headers.get('x-request-id');
  if (requestId === null) return 'the header X-Request-Id is missing';
  for (const [name, header] of Object.entries(declared.headers ?? {})) {
    const violation = explainHeader(name, header, headers.get(name));
    if (violation) return violation;
  }
  const dependsOnCaller = operation.authentication === 'required' || status >= 400;
  if (dependsOnCaller && headers.get('cache-control') !== 'no-store') {
    return `Cache-Control is ${headers.get('cache-control')} instead of no-store`;
  }
  const type = headers.get('content-type');
  if (!declared.content) return text === '' ? undefined : 'the response must have no body';
  const media = declared.content[type ?? ''];
  if (!media) return `the content type ${type} is not declared`;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return 'the body is not JSON';
  }
  const error = explainBody(media.schema, body);
  if (error) return error;
  if (status < 400) return undefined;
  return explainProblem(body as ProblemBody, status, requestId, declared['x-problem-codes']);
}

function explainHeader(name: string, header: Header, value: string | null): string | undefined {
  if (value === null) return header.required ? `the header ${name} is missing` : undefined;
  const pattern = headerPatterns[name.toLowerCase()];
  const isInteger = header.schema?.type === 'integer';
  const isValid = pattern
    ? pattern.test(value)
    : validate(header.schema ?? {}, isInteger ? Number(value) : value) === undefined;
  return isValid ? undefined : `the header ${name} must not be ${JSON.stringify(value)}`;
}

interface ProblemBody {
  status: number;
  code: string;
  request_id: string;
}

function explainProblem(
  { status, code, request_id }: ProblemBody,
  expectedStatus: number,
  requestId: string,
  codes: readonly string[] = [],
): string | undefined {
  if (status !== expectedStatus) return `the field "status" is ${status}`;
  if (!codes.includes(code)) return `the code ${code} is not declared`;
  return request_id === requestId ? undefined : 'request_id differs from X-Request-Id';
}

function explainBody(schema: Schema, body: unknown): string | undefined {
  const error = validate(schema, body);
  if (!error) return undefined;
  const { additionalProperty } = error.params as { additionalProperty?: string };
  if (additionalProperty) return `${error.instancePath}/${additionalProperty} is not declared`;
  return `${error.instancePath || 'the body'} ${error.message}`;
}

function validate(schema: Schema, value: unknown): ErrorObject | undefined {
  let check = validators.get(schema);
  if (!check) {
    check = ajv.compile({ components: contract.components, allOf: [schema] });
    validators.set(schema, check);
  }
  return check(value) ? undefined : check.errors?.[0];
}
