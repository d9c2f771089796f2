import { expect, test } from 'vitest';
import { parseDocument, visit } from 'yaml';
import type { Action } from '../../generated/counted-operations.gen.ts';
import { contract, contractText, operations } from '../../server/contract.ts';
import { inputNamesOf } from '../support/requests.ts';

// Rules for openapi.yaml that its linters cannot express.

const lists = operations.filter((operation) => inputNamesOf(operation).includes('limit'));

test('every required parameter has an example', () => {
  const missing = operations.flatMap((operation) =>
    operation.parameters
      .filter(({ required, example }) => required && example === undefined)
      .map(({ name }) => `${operation.operationId}: the parameter ${name} needs an example`),
  );
  expect(missing).toEqual([]);
});

test('exactly the operations with x-counts-as say that they count against a quota', () => {
  const nouns = { space: 'created and updated spaces', message: 'messages', change: 'changes' };
  for (const { operationId, path, method, countsAs } of operations) {
    const operation = contract.paths[path]?.[method.toLowerCase()];
    const { description } = operation as { description: string };
    const [, noun] =
      /[Cc]ounts?\s+against\s+the\s+quotas\s+of\s+([\w ]+)\./.exec(description) ?? [];
    expect(noun, operationId).toBe(countsAs && nouns[countsAs as Action]);
  }
});

test('the contract has no YAML anchors, which some tools cannot read', () => {
  const anchors: string[] = [];
  visit(parseDocument(contractText), {
    Node: (_key, { anchor }) => {
      if (anchor !== undefined) anchors.push(anchor);
    },
  });
  expect(anchors).toEqual([]);
});

test('only errors are shared responses, because some generators return null for a shared success', () => {
  const responses = Object.entries(contract.components.responses ?? {});
  const shared = responses.filter(([, response]) => !('x-problem-codes' in response));
  expect(shared.map(([name]) => name)).toEqual([]);
});

test('no link has a request body, which openapi-generator rejects', () => {
  const links = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap((each) => Object.values(each.links ?? {})),
  );
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter((link) => 'requestBody' in link)).toEqual([]);
});

test('the contract has lists', () => {
  expect(lists.map(({ operationId }) => operationId)).toContain('listMessages');
});

test('all lists are pages with a cursor, except the two searches, which return arrays', () => {
  const arrays = lists.filter(({ responses }) => {
    const schema = responses['200']?.content?.['application/json']?.schema;
    const page = contract.components.schemas[schema?.$ref?.split('/').at(-1) ?? ''];
    return !['items', 'next_cursor'].every((name) => page?.required?.includes(name));
  });
  expect(arrays.map(({ operationId }) => operationId)).toEqual([
    'searchSpaces',
    'searchSpacesByTag',
  ]);
});

test.each(lists)('$operationId has the parameter cursor and the header Link', (operation) => {
  expect(inputNamesOf(operation)).toContain('cursor');
  expect(Object.keys(operation.responses['200']?.headers ?? {})).toContain('Link');
});
