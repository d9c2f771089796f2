import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { breakingChanges } from '../../codegen/breaking.ts';

const text = readFileSync('openapi.yaml', 'utf8');

/** What the check says of the contract with a change. */
// biome-ignore lint/suspicious/noExplicitAny: the changes reach anywhere into an OpenAPI document
function judge(change: (contract: any) => void): string[] {
  const after = parse(text);
  change(after);
  return breakingChanges(parse(text), after);
}

describe('A client breaks when', () => {
  test.each<[string, Parameters<typeof judge>[0]]>([
    ['an operation vanishes', ({ paths }) => delete paths['/api/users/{user_id}'].get],
    [
      'an operation is called otherwise',
      ({ paths }) => {
        paths['/api/users/{user_id}'].get.operationId = 'readUser';
      },
    ],
    [
      'an open operation needs a token',
      ({ paths }) => delete paths['/api/spaces/search'].get.security,
    ],
    ['a type is called otherwise', ({ components }) => delete components.schemas.Invitation],
    [
      'an answer lacks a field',
      ({ components: { schemas } }) => {
        delete schemas.Profile.properties.bio;
        schemas.Profile.required = schemas.Profile.required.filter(
          (name: string) => name !== 'bio',
        );
      },
    ],
    [
      'an answer may lack a field',
      ({ components: { schemas } }) => {
        schemas.Profile.required = schemas.Profile.required.filter(
          (name: string) => name !== 'bio',
        );
      },
    ],
    [
      'a field of an answer is of another type',
      ({ components: { schemas } }) => {
        schemas.Profile.properties.bio = { type: 'integer' };
      },
    ],
    [
      'a request needs another field',
      ({ components: { schemas } }) => {
        schemas.Registration.properties.website = { type: 'string' };
        schemas.Registration.required.push('website');
      },
    ],
    [
      'a request may not have a field any more',
      ({ components: { schemas } }) => delete schemas.SpaceUpdate.properties.description,
    ],
    [
      'a parameter has narrower bounds',
      ({ components }) => {
        components.parameters.Limit.schema.maximum = 50;
      },
    ],
    [
      'a field of a request has fewer values',
      ({ components }) => {
        components.schemas.Visibility.enum = ['public'];
      },
    ],
  ])('%s', (_, change) => {
    expect(judge(change)).not.toEqual([]);
  });
});

describe('A client does not break when', () => {
  test.each<[string, Parameters<typeof judge>[0]]>([
    ['nothing changes', () => {}],
    [
      'an answer has another field, always',
      ({ components: { schemas } }) => {
        schemas.Profile.properties.website = { type: 'string' };
        schemas.Profile.required.push('website');
      },
    ],
    [
      'a request may have another field',
      ({ components: { schemas } }) => {
        schemas.Registration.properties.website = { type: 'string' };
      },
    ],
    [
      'an operation needs a token no more',
      ({ paths }) => {
        paths['/api/users/{user_id}'].get.security = [];
      },
    ],
    [
      'there is another operation',
      ({ paths }) => {
        paths['/api/other'] = { get: { ...paths['/api/spaces/search'].get, operationId: 'other' } };
      },
    ],
    [
      'a description is another',
      ({ info }) => {
        info.description = 'Rooms.';
      },
    ],
  ])('%s', (_, change) => {
    expect(judge(change)).toEqual([]);
  });
});
