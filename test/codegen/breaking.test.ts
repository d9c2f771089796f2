import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { breakingChanges } from '../../codegen/breaking.ts';
import type { Operations, Schema } from '../../server/contract.ts';

type Direction = 'request' | 'response';

/** Returns a contract with one operation. Its body has the schema, inline or through shared components. */
function contractOf(direction: Direction, schema: Schema, isShared: boolean): Operations {
  const used = isShared ? { $ref: '#/components/schemas/Thing' } : schema;
  const inline = { description: '', content: { 'application/json': { schema: used } } };
  const body = isShared ? { $ref: '#/components/bodies/Body' } : inline;
  const operation =
    direction === 'request'
      ? { operationId: 'changeThing', requestBody: body, responses: {} }
      : { operationId: 'changeThing', responses: { 200: body } };
  const contract: Operations = { paths: { '/thing': { put: operation } } };
  if (isShared) contract.components = { schemas: { Thing: schema }, bodies: { Body: inline } };
  return contract;
}

const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
});
const text = { type: 'string' };
const field = (schema: Schema) => object({ a: schema }, ['a']);
const integer = (keywords: Schema) => field({ type: 'integer', ...keywords });
const int32 = { format: 'int32' };
const int64 = { format: 'int64' };
const bounds = { minimum: 1, maximum: 100 };
const both: Direction[] = ['request', 'response'];

/** Name, schema before, schema after, and where the change breaks clients. */
const schemaChanges: [string, Schema, Schema, Direction[]][] = [
  ['no change', object({ a: text }), object({ a: text }), []],
  ['an added optional field', object({}), object({ a: text }), []],
  ['an added required field', object({}), object({ a: text }, ['a']), ['request']],
  ['a removed optional field', object({ a: text }), object({}), both],
  ['a removed required field', object({ a: text }, ['a']), object({}), both],
  ['a field that becomes required', object({ a: text }), object({ a: text }, ['a']), ['request']],
  ['a field that becomes optional', object({ a: text }, ['a']), object({ a: text }), ['response']],
  ['a nested field that is removed', field(object({ b: text })), field(object({})), both],
  ['number to integer', field({ type: 'number' }), field({ type: 'integer' }), ['request']],
  ['integer to number', field({ type: 'integer' }), field({ type: 'number' }), ['response']],
  ['string to integer', field({ type: 'string' }), field({ type: 'integer' }), both],
  ['an added type', field({}), field({ type: 'string' }), ['request']],
  ['a removed type', field({ type: 'string' }), field({}), ['response']],
  ['an added enum value', field({ enum: ['x'] }), field({ enum: ['x', 'y'] }), ['response']],
  ['a removed enum value', field({ enum: ['x', 'y'] }), field({ enum: ['x'] }), ['request']],
  ['a replaced enum value', field({ enum: ['x', 'y'] }), field({ enum: ['x', 'z'] }), both],
  ['reordered enum values', field({ enum: ['x', 'y'] }), field({ enum: ['y', 'x'] }), []],
  ['an added enum', field(text), field({ ...text, enum: ['x'] }), ['request']],
  ['a removed enum', field({ ...text, enum: ['x'] }), field(text), ['response']],
  ['a field that becomes nullable', field(text), field({ ...text, nullable: true }), ['response']],
  ['a field that is never null now', field({ ...text, nullable: true }), field(text), ['request']],
  ['nullable: false', field(text), field({ ...text, nullable: false }), []],
  ['a raised maximum', field({ maxLength: 5 }), field({ maxLength: 9 }), ['response']],
  ['a lowered maximum', field({ maximum: 9 }), field({ maximum: 5 }), ['request']],
  ['a raised minimum', field({ minimum: 1 }), field({ minimum: 2 }), ['request']],
  ['a lowered minimum', field({ minItems: 2 }), field({ minItems: 1 }), ['response']],
  ['an added bound', field(text), field({ ...text, maxLength: 5 }), ['request']],
  ['a removed bound', field({ ...text, maxLength: 5 }), field(text), ['response']],
  ['another pattern', field({ pattern: 'a' }), field({ pattern: 'b' }), both],
  ['an added format', field(text), field({ ...text, format: 'uri' }), ['request']],
  ['a removed format', field({ ...text, format: 'uri' }), field(text), ['response']],
  ['another format', field({ format: 'uri' }), field({ format: 'email' }), both],
  ['integer to int32', integer({}), integer(int32), both],
  ['int32 to integer', integer(int32), integer({}), both],
  ['int32 to int64', integer(int32), integer(int64), both],
  ['int64 to int32', integer(int64), integer(int32), both],
  [
    'int32 for bounded int64',
    integer({ ...bounds, ...int64 }),
    integer({ ...bounds, ...int32 }),
    both,
  ],
  [
    'a removed maximum of int32',
    integer({ ...bounds, ...int32 }),
    integer({ minimum: 1, ...int32 }),
    ['response'],
  ],
  [
    'an added maximum of int32',
    integer({ minimum: 1, ...int32 }),
    integer({ ...bounds, ...int32 }),
    ['request'],
  ],
  [
    'a removed problem code',
    field({ ...text, 'x-problem-statuses': { lost: 404, found: 400 } }),
    field({ ...text, 'x-problem-statuses': { found: 400 } }),
    both,
  ],
  [
    'another status of a problem code',
    field({ ...text, 'x-problem-statuses': { lost: 404 } }),
    field({ ...text, 'x-problem-statuses': { lost: 410 } }),
    both,
  ],
  [
    'an added problem code',
    field({ ...text, 'x-problem-statuses': { lost: 404 } }),
    field({ ...text, 'x-problem-statuses': { lost: 404, found: 400 } }),
    [],
  ],
  ['items that become unique', field({}), field({ uniqueItems: true }), ['request']],
  ['an unknown keyword that changes', field({ not: text }), field({ not: {} }), both],
  [
    'another type of array items',
    { type: 'array', items: { type: 'number' } },
    { type: 'array', items: { type: 'integer' } },
    ['request'],
  ],
  [
    'unknown fields that become allowed',
    { additionalProperties: false },
    { additionalProperties: true },
    [],
  ],
  ['unknown fields that become forbidden', {}, { additionalProperties: false }, ['request']],
  [
    'another type of map values',
    { additionalProperties: { type: 'integer' } },
    { additionalProperties: { type: 'number' } },
    ['response'],
  ],
  [
    'a removed field in one of several schemas',
    { oneOf: [object({ a: text }), object({ b: text })] },
    { oneOf: [object({ a: text }), object({})] },
    both,
  ],
  ['another number of alternatives', { anyOf: [text] }, { anyOf: [text, text] }, both],
  ['another default', field({ default: 1 }), field({ default: 2 }), ['request']],
  ['an added default', field({}), field({ default: 1 }), []],
  [
    'another description and example',
    field({ description: 'a', example: 'a', title: 'a' }),
    field({ description: 'b', example: 'b', deprecated: true }),
    [],
  ],
];

describe.each([
  ['an inline', false],
  ['a shared', true],
])('In %s schema, the check', (_, isShared) => {
  test.each(schemaChanges)(
    'distinguishes requests and responses: %s',
    (_name, before, after, broken) => {
      const check = (direction: Direction) =>
        breakingChanges(
          contractOf(direction, before, isShared),
          contractOf(direction, after, isShared),
        );
      expect({ request: check('request'), response: check('response') }).toEqual({
        request: broken.includes('request')
          ? [expect.stringContaining('changeThing request: ')]
          : [],
        response: broken.includes('response')
          ? [expect.stringContaining('changeThing 200 response: ')]
          : [],
      });
    },
  );
});

test('compares an inline schema with the shared one that replaces it', () => {
  const inline = contractOf('response', object({ a: text, b: text }), false);
  expect(
    breakingChanges(inline, contractOf('response', object({ a: text, b: text }), true)),
  ).toEqual([]);
  expect(breakingChanges(inline, contractOf('response', object({ a: text }), true))).toEqual([
    'changeThing 200 response: Thing.b was removed. Keep the field.',
  ]);
});

test('follows recursive schemas', () => {
  const tree = (leaf: Schema) =>
    object({ leaf, children: { type: 'array', items: { $ref: '#/components/schemas/Thing' } } });
  const before = contractOf('response', tree({ type: 'integer' }), true);
  const after = contractOf('response', tree({ type: 'number' }), true);
  expect(breakingChanges(before, before)).toEqual([]);
  expect(breakingChanges(before, after)).toEqual([
    'changeThing 200 response: Thing.leaf changed type from "integer" to "number". ' +
      'Return only values that the released contract declares.',
  ]);
});

test('rejects a reference without a target', () => {
  const broken = contractOf('response', { $ref: '#/components/schemas/Nothing' }, false);
  expect(() => breakingChanges(broken, broken)).toThrow(
    'Cannot resolve $ref #/components/schemas/Nothing.',
  );
});

const source = readFileSync('openapi.yaml', 'utf8');

/** Changes the contract of the service. Returns the lines that the check reports. */
// biome-ignore lint/suspicious/noExplicitAny: the changes reach anywhere into an OpenAPI document
function checkAfter(change: (contract: any) => void): string[] {
  const after = parse(source);
  change(after);
  return breakingChanges(parse(source), after);
}

describe('The check of the service’s contract', () => {
  test.each<[string, Parameters<typeof checkAfter>[0], string]>([
    [
      'an operation',
      ({ paths }) => delete paths['/api/users/{user_id}'].get,
      'getUser: GET /api/users/{user_id} was removed. Keep the operation.',
    ],
    [
      'a path',
      ({ paths }) => delete paths['/api/users/{user_id}'],
      'getUser: GET /api/users/{user_id} was removed. Keep the operation.',
    ],
    [
      'an operationId',
      ({ paths }) => {
        paths['/api/users/{user_id}'].get.operationId = 'readUser';
      },
      'getUser: GET /api/users/{user_id} has operationId readUser now. Keep the operationId: clients name a function after it.',
    ],
    [
      'an optional token',
      ({ paths }) => delete paths['/api/spaces/search'].get.security,
      'searchSpaces: GET /api/spaces/search needs an access token now. Keep the token optional.',
    ],
    [
      'a security scheme',
      ({ components: { securitySchemes }, paths }) => {
        securitySchemes.key = { type: 'apiKey', in: 'header', name: 'X-Key' };
        paths['/api/users/{user_id}'].get.security = [{ key: [] }];
      },
      'getUser: GET /api/users/{user_id} no longer accepts bearer. Keep the security scheme.',
    ],
    [
      'the meaning of a security scheme',
      ({ components: { securitySchemes } }) => {
        securitySchemes.bearer.scheme = 'basic';
      },
      'components: securitySchemes/bearer was changed. Add another scheme instead.',
    ],
    [
      'a tag',
      ({ paths }) => {
        paths['/api/users/{user_id}'].get.tags = ['Accounts'];
      },
      'getUser: GET /api/users/{user_id} has the tag accounts now. Keep the tag: clients name a class after it.',
    ],
    [
      'a problem code of an operation',
      ({ paths }) => {
        const response = paths['/api/spaces/tag/{tag}'].get.responses['404'];
        response['x-problem-codes'] = ['space_not_found'];
      },
      'searchSpacesByTag 404 response: response no longer has the code not_found. Keep the code.',
    ],
    [
      'a schema name',
      ({ components: { schemas }, paths }) => {
        schemas.Invite = schemas.Invitation;
        delete schemas.Invitation;
        const { content } = paths['/api/participations/{space_id}'].put.requestBody;
        content['application/json'].schema.$ref = '#/components/schemas/Invite';
      },
      'components: schemas/Invitation was removed. Keep the component: clients name a type after it.',
    ],
    [
      'a status',
      ({ paths }) => delete paths['/api/users/{user_id}'].get.responses['404'],
      'getUser 404: response was removed. Keep the status.',
    ],
    [
      'a response header',
      ({ paths }) => delete paths['/api/spaces/tag/{tag}'].get.responses['200'].headers.Link,
      'searchSpacesByTag 200 response: header Link was removed. Keep the header.',
    ],
    [
      'a content type',
      ({ paths }) => {
        const { requestBody } = paths['/api/auth/login'].post;
        requestBody.content = { 'text/json': requestBody.content['application/json'] };
      },
      'login request: body is no longer application/json. Keep the content type.',
    ],
    [
      'an optional body',
      ({ paths }) => {
        paths['/api/participations/{space_id}'].put.requestBody.required = true;
      },
      'joinSpace request: body is required now. Make the body optional.',
    ],
    [
      'a parameter',
      ({ paths }) => paths['/api/spaces/search'].get.parameters.pop(),
      'searchSpaces request: query parameter cursor was removed. Keep the parameter.',
    ],
    [
      'an optional parameter',
      ({ paths }) => {
        const added = { name: 'lang', in: 'query', required: true, schema: { type: 'string' } };
        paths['/api/spaces/search'].get.parameters.push(added);
      },
      'searchSpaces request: query parameter lang is required now. Make the parameter optional.',
    ],
    [
      'the encoding of a parameter',
      ({ paths }) => {
        paths['/api/spaces/search'].get.parameters[0].style = 'spaceDelimited';
      },
      'searchSpaces request: query parameter q is encoded differently. Keep style and explode.',
    ],
  ])('reports the loss of %s', (_, change, line) => {
    expect(checkAfter(change)).toEqual([line]);
  });

  test('lists two operations and the number of others if a shared schema changes', () => {
    const lines = checkAfter(
      ({ components: { schemas } }) => delete schemas.Problem.properties.code,
    );
    expect(lines).toEqual([
      expect.stringMatching(
        /^searchSpaces 400 response, searchSpaces 429 response and \d+ more: Problem\.code was removed\. Keep the field\.$/,
      ),
    ]);
  });

  test('reports a header that becomes optional', () => {
    const lines = checkAfter(
      ({ components }) => delete components.headers['WWW-Authenticate'].required,
    );
    expect(lines).toEqual([
      expect.stringMatching(
        /: header WWW-Authenticate is no longer required\. Always send the header\.$/,
      ),
    ]);
  });

  test('reports narrower bounds of a shared parameter', () => {
    const lines = checkAfter(({ components }) => {
      components.parameters.Limit.schema.maximum = 50;
    });
    expect(lines).toEqual([
      expect.stringMatching(
        /^searchSpaces request, searchSpacesByTag request( and \d+ more|, \w+ request)?: query parameter limit changed maximum from 100 to 50\. Accept every value that the released contract accepts\.$/,
      ),
    ]);
  });

  test('reports fewer allowed values in a request schema', () => {
    const lines = checkAfter(({ components }) => {
      components.schemas.Visibility.enum = ['public'];
    });
    expect(lines).toEqual([
      'createSpace request, updateSpace request: Visibility changed enum from ["public","private"] to ["public"]. Accept every value that the released contract accepts.',
    ]);
  });

  test.each<[string, Parameters<typeof checkAfter>[0]]>([
    ['no change', () => {}],
    [
      'another field of search results',
      ({ components: { schemas } }) => {
        schemas.SearchResult.properties.another_field = { type: 'string' };
        schemas.SearchResult.required.push('another_field');
      },
    ],
    [
      'another optional parameter',
      ({ paths }) => {
        const added = { name: 'lang', in: 'query', schema: { type: 'string' } };
        paths['/api/spaces/search'].get.parameters.push(added);
      },
    ],
    [
      'another status',
      ({ paths, components }) => {
        paths['/api/spaces/search'].get.responses['410'] = components.responses.Internal;
      },
    ],
    [
      'a shared response under another name',
      ({ paths, components: { responses } }) => {
        responses.ExpiredToken = responses.Unauthenticated;
        const { get } = paths['/api/profile/me'];
        get.responses['401'] = { $ref: '#/components/responses/ExpiredToken' };
      },
    ],
    [
      'another security scheme as an alternative',
      ({ components: { securitySchemes }, paths }) => {
        securitySchemes.key = { type: 'apiKey', in: 'header', name: 'X-Key' };
        paths['/api/users/{user_id}'].get.security = [{ bearer: [] }, { key: [] }];
      },
    ],
    [
      'another problem code of an operation',
      ({ paths }) => {
        const response = paths['/api/spaces/tag/{tag}'].get.responses['404'];
        response['x-problem-codes'].push('space_not_found');
      },
    ],
    [
      'a token that becomes optional',
      ({ paths }) => {
        paths['/api/users/{user_id}'].get.security = [];
      },
    ],
    [
      'another operation',
      ({ paths }) => {
        paths['/api/other'] = { get: { ...paths['/api/spaces/search'].get, operationId: 'other' } };
      },
    ],
    [
      'another description',
      ({ info }) => {
        info.description = 'Rooms.';
      },
    ],
  ])('accepts %s', (_, change) => {
    expect(checkAfter(change)).toEqual([]);
  });
});
