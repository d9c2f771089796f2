import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { contractText, operations } from '../../server/contract.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';

let app: TestApp;
let caller: TestUser;

beforeAll(async () => {
  app = await startApp();
  caller = await app.register();
});
afterAll(() => app[Symbol.asyncDispose]());

const contract = parse(contractText);
const takingJson = operations
  .filter(({ bodyType }) => bodyType === 'application/json')
  .map((operation) => {
    const { requestBody } = contract.paths[operation.path][operation.method.toLowerCase()];
    return { ...operation, ...requestBody.content['application/json'] };
  });

interface Schema {
  type: string;
  $ref?: string;
  properties: Record<string, Schema>;
  items: Schema;
  maxItems: number;
  maxLength: number;
  enum?: string[];
}

/** Of what a schema allows, what takes the most bytes: its longest texts, as clients write them that know ASCII only. */
function longest({ type, $ref, properties, items, ...schema }: Schema): string {
  if ($ref) return longest(contract.components.schemas[`${$ref.split('/').at(-1)}`]);
  if (type === 'array') return `[${Array(schema.maxItems).fill(longest(items)).join()}]`;
  if (type === 'string') {
    return schema.enum ? `"${schema.enum[0]}"` : `"${'\\ud83d\\ude00'.repeat(schema.maxLength)}"`;
  }
  const fields = Object.entries(properties);
  return `{${fields.map(([name, value]) => `"${name}":${longest(value)}`).join()}}`;
}

describe.each(takingJson)('The body of $operationId', (operation) => {
  const { method, path, isBodyRequired, example, schema } = operation;
  const url = path.replace(/\{\w+\}/, 'some-id');
  const send = async (body?: BodyInit, { headers: own } = caller) => {
    const headers = { ...own, 'content-type': 'application/json' };
    const response = await app.fetch(url, { method, headers, ...(body && { body }) });
    return { status: response.status, problem: await response.json() };
  };
  const valid = JSON.stringify(example);
  const field = Object.keys(example)[0] as string;

  if (isBodyRequired) {
    test('is needed', async () => {
      const { status, problem } = await send();
      expect(problem).toMatchObject({
        status: 400,
        errors: [{ pointer: '', message: 'is missing' }],
      });
      expect(status).toBe(400);
    });
  }

  test.each(['{', 'null', '[]', '"text"', '1', 'true', `${valid},`, `[${valid}]`, '\uFEFF', ' '])(
    'is one JSON object and not %j',
    async (body) => {
      const { status, problem } = await send(body);
      expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
      expect(status).toBe(400);
    },
  );

  test.each(['__proto__', 'constructor', 'extra', field.toUpperCase()])(
    'has no field %s',
    async (name) => {
      const body = `{"${name}": {"prototype": {"isAdmin": true}}, ${valid.slice(1)}`;
      expect((await send(body)).problem).toMatchObject({ status: 400, code: 'invalid_request' });
    },
  );

  test('is UTF-8', async () => {
    const latin1 = Buffer.from(JSON.stringify({ ...example, [field]: 'Zoë Müller' }), 'latin1');
    expect((await send(latin1)).problem).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test('has at most 32,768 bytes, whether or not they are announced', async () => {
    const tooLong = valid.padEnd(32_769);
    for (const body of [tooLong, new Blob([tooLong]).stream()]) {
      const response = await app.fetch(url, {
        method,
        headers: { ...caller.headers, 'content-type': 'application/json' },
        body,
        ...{ duplex: 'half' },
      });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ status: 413, code: 'body_too_large' });
    }
    expect((await send('{}'.padEnd(32_768))).status).not.toBe(413);
  });

  test('is not too large for the longest texts, however they are escaped', async () => {
    const body = longest(schema);
    expect(JSON.parse(body)).toBeTypeOf('object');
    expect((await send(body, await app.register())).status).not.toBe(413);
  });

  describe.each(Object.keys(example))('at %s', (name) => {
    test.each([123, true, null, {}, ['abcd', 1], 'NUL \0', 'half \ud83d'])(
      'does not hold %j',
      async (value) => {
        const { status, problem } = await send(JSON.stringify({ ...example, [name]: value }));
        expect(status).toBe(400);
        expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
        expect(problem.errors[0].pointer).toMatch(new RegExp(`^/${name}\\b`));
      },
    );

    if (isBodyRequired && method !== 'PATCH') {
      test('is needed', async () => {
        const { problem } = await send(JSON.stringify({ ...example, [name]: undefined }));
        const errors = [{ pointer: `/${name}`, message: 'is missing' }];
        expect(problem).toMatchObject({ status: 400, code: 'invalid_request', errors });
      });
    }
  });
});

test('A body that is nested deeply is refused as any other', async () => {
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
    expect(await response.json()).toMatchObject({ code: 'invalid_request' });
  }
});

test('A field that is not known is pointed at, whatever it is called', async () => {
  const response = await app.fetch('/api/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'a@example.com', password: 'marmalade on toast', 'a/b~c': 1 }),
  });
  expect((await response.json()).errors).toEqual([
    { pointer: '/a~1b~0c', message: 'is not a known field' },
  ]);
});

test('A body that was refused has changed nothing', async () => {
  const profile = await (await app.fetch('/api/profile/me', caller)).json();
  expect(profile).toMatchObject({
    username: caller.username,
    bio: '',
    stats: { spaces_created: 0 },
  });
  expect(profile.updated_at).toBe(profile.created_at);
});
