import { beforeAll, describe, expect, test } from 'vitest';
import { contract, operations, resolveReference } from '../../server/contract.ts';
import type { TestUser } from '../support/client.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let caller: TestUser;

beforeAll(async () => {
  caller = await app.register();
});

interface Schema {
  type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  nullable?: boolean;
  $ref?: string;
  properties: Record<string, Schema>;
  required?: string[];
  items: Schema;
  maxItems: number;
  maxLength: number;
  maximum?: number;
  enum?: string[];
}

const resolve = (schema: Schema) => resolveReference<Schema>(contract, schema);

const operationsWithJson = operations
  .filter(({ bodyType }) => bodyType === 'application/json')
  .map((operation) => {
    const media = operation.requestBody?.content['application/json'];
    const example = { ...media?.example };
    return { ...operation, example, schema: resolve(media?.schema as unknown as Schema) };
  });

/** Returns the longest valid JSON text. Every character is escaped, as by clients that send only ASCII. */
function longestJson(reference: Schema): string {
  const { type, properties, items, ...schema } = resolve(reference);
  switch (type) {
    case 'object': {
      const fields = Object.entries(properties);
      return `{${fields.map(([name, value]) => `"${name}":${longestJson(value)}`).join()}}`;
    }
    case 'array':
      return `[${Array(schema.maxItems).fill(longestJson(items)).join()}]`;
    case 'string':
      if (schema.enum) return `"${schema.enum[0]}"`;
      return `"${'\\ud83d\\ude00'.repeat(schema.maxLength)}"`;
    case 'boolean':
      return 'false';
    default:
      return String(schema.maximum ?? Number.MAX_SAFE_INTEGER);
  }
}

/** Returns values of other types than the schema's, and strings that every field rejects. */
function invalidValues({ type, nullable }: Schema): unknown[] {
  const values: unknown[] = [{}, ['abcd', 1], 'NUL \0', 'lone surrogate \ud83d'];
  if (type !== 'integer' && type !== 'number') values.push(123);
  if (type !== 'boolean') values.push(true);
  if (!nullable) values.push(null);
  return values;
}

describe.each(operationsWithJson)('the JSON body of $operationId', (operation) => {
  const { method, path, isBodyRequired, example, schema } = operation;
  const url = path.replace(/\{\w+\}/g, 'some-id');
  const send = async (body?: BodyInit, user = caller) => {
    const headers = { ...user.headers, 'content-type': 'application/json' };
    const response = await app.fetch(url, { method, headers, ...(body && { body }) });
    return { status: response.status, problem: await response.json() };
  };
  const valid = JSON.stringify(example);
  const field = Object.keys(example)[0] as string;

  if (isBodyRequired) {
    test('is required', async () => {
      const { status, problem } = await send();
      expect(problem).toMatchObject({
        status: 400,
        errors: [{ in: 'body', pointer: '', code: 'missing', message: 'is missing' }],
      });
      expect(status).toBe(400);
    });
  }

  test.each([
    ...(isBodyRequired ? ['null'] : []),
    ...['{', '[]', '"text"', '1', 'true', `${valid},`, `[${valid}]`, '\uFEFF', ' '],
  ])('must be a single JSON object, not %j', async (body) => {
    const { status, problem } = await send(body);
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(status).toBe(400);
  });

  test.each(['__proto__', 'constructor', 'extra', field.toUpperCase()])(
    'must not have the unknown field %s',
    async (name) => {
      const body = `{"${name}": {"prototype": {"isAdmin": true}}, ${valid.slice(1)}`;
      expect((await send(body)).problem).toMatchObject({ status: 400, code: 'invalid_request' });
    },
  );

  test('must be UTF-8', async () => {
    const latin1 = Buffer.from(JSON.stringify({ ...example, [field]: 'Zoë Müller' }), 'latin1');
    expect((await send(latin1)).problem).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test('must not exceed 32,768 bytes, with or without Content-Length', async () => {
    const tooLarge = valid.padEnd(32_769);
    for (const body of [tooLarge, new Blob([tooLarge]).stream()]) {
      const response = await app.fetch(url, {
        method,
        headers: { ...caller.headers, 'content-type': 'application/json' },
        body,
        // Required by fetch for a streamed body, but missing in its type.
        duplex: 'half',
      } as RequestInit);
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ status: 413, code: 'body_too_large' });
    }
    expect((await send('{}'.padEnd(32_768))).status).not.toBe(413);
  });

  test('may contain the longest valid strings with every character escaped', async () => {
    const body = longestJson(schema);
    expect(JSON.parse(body)).toBeTypeOf('object');
    expect((await send(body, await app.register())).status).not.toBe(413);
  });

  describe.each(Object.entries<Schema>(schema.properties))('field %s', (name, property) => {
    const values = invalidValues(resolve(property)).map((value) => ({
      json: JSON.stringify(value),
      value,
    }));
    test.each(values)('rejects $json', async ({ value }) => {
      const { status, problem } = await send(JSON.stringify({ ...example, [name]: value }));
      expect(status).toBe(400);
      expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
      expect(problem.errors[0].pointer).toMatch(new RegExp(`^/${name}\\b`));
    });

    if (schema.required?.includes(name)) {
      test('is required', async () => {
        const { problem } = await send(JSON.stringify({ ...example, [name]: undefined }));
        const errors = [{ pointer: `/${name}`, code: 'missing' }];
        expect(problem).toMatchObject({ status: 400, code: 'invalid_request', errors });
      });
    }
  });
});

test('rejects a deeply nested body', async () => {
  for (const nested of [
    '['.repeat(16_000) + ']'.repeat(16_000),
    `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
  ]) {
    const response = await app.fetch('/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"email":${nested},"password":"marmalade on toast"}`,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'invalid_request',
      detail: 'The request body is nested too deeply.',
      errors: [],
    });
  }
});

test('shortens the JSON pointer to a field with a long name', async () => {
  for (const value of [1, '\0']) {
    const response = await app.fetch('/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ['x'.repeat(30_000)]: value }),
    });
    const body = await response.text();
    expect(response.status).toBe(400);
    expect(body).toContain(`/${'x'.repeat(199)}…`);
    expect(body.length).toBeLessThan(2_000);
  }
});

test('escapes the name of an unknown field in its JSON pointer', async () => {
  const response = await app.fetch('/api/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'a@example.com', password: 'marmalade on toast', 'a/b~c': 1 }),
  });
  expect((await response.json()).errors).toEqual([
    {
      in: 'body',
      pointer: '/a~1b~0c',
      name: null,
      code: 'unknown_field',
      message: 'is not a known field',
    },
  ]);
});

test('the rejected bodies above have not changed any data', async () => {
  const profile = await (await app.fetch('/api/profile/me', { headers: caller.headers })).json();
  expect(profile).toMatchObject({
    username: caller.username,
    bio: '',
    stats: { spaces_created: 0 },
  });
  expect(profile.updated_at).toBe(profile.created_at);
});
