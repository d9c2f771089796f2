import { describe, expect, test } from 'vitest';
import { themePlugin } from '../../server/http/documentation-theme.ts';

/** Has the methods of maps and lists of Immutable.js that the plugin uses. */
class Collection<Value> {
  readonly entries: [string, Value][];
  constructor(entries: [string, Value][]) {
    this.entries = entries;
  }
  get size() {
    return this.entries.length;
  }
  get(wanted: string) {
    return this.entries.find(([name]) => name === wanted)?.[1];
  }
  getIn([first = '', ...rest]: string[]): unknown {
    const value = this.get(first);
    return value instanceof Collection && rest.length > 0 ? value.getIn(rest) : value;
  }
  set(changed: string, to: Value) {
    return this.map((value, name) => (name === changed ? to : value));
  }
  map(change: (value: Value, name: string) => Value) {
    return new Collection(this.entries.map(([name, value]) => [name, change(value, name)]));
  }
  filter(predicate: (value: Value) => boolean) {
    return new Collection(this.entries.filter(([, value]) => predicate(value)));
  }
}

const operation = (path: string, operationId: string, summary: string) =>
  new Collection<unknown>([
    ['path', path],
    [
      'operation',
      new Collection([
        ['operationId', operationId],
        ['summary', summary],
      ]),
    ],
  ]);
const tag = (...operations: Collection<unknown>[]) =>
  new Collection<unknown>([
    ['operations', new Collection(operations.map((each, i) => [String(i), each]))],
  ]);
const tags = new Collection([
  [
    'Spaces',
    tag(
      operation('/api/spaces', 'createSpace', 'Create a space'),
      operation('/api/removals', 'listRemovals', 'List the removed users'),
    ),
  ],
  ['Users', tag(operation('/api/users/{user_id}', 'getUser', 'Retrieve a user'))],
]);

/** Returns the paths that the filter of the API reference shows. */
function pathsFor(phrase: string): unknown[] {
  const { opsFilter } = themePlugin({ React: { createElement: () => undefined } }).fn;
  const filtered = opsFilter(
    tags as unknown as Parameters<typeof opsFilter>[0],
    phrase,
  ) as unknown as typeof tags;
  return filtered.entries.flatMap(([, each]) =>
    (each.get('operations') as typeof tags).entries.map(([, { entries }]) => entries[0]?.[1]),
  );
}

describe('The filter of the API reference shows', () => {
  test.each([
    ['the operations with the path', '/API/SPACES', ['/api/spaces']],
    ['the operations with the operationId', 'listremovals', ['/api/removals']],
    ['the operations with the summary', 'retrieve a', ['/api/users/{user_id}']],
    ['all operations of the tag', 'spaces', ['/api/spaces', '/api/removals']],
  ])('%s: %s', (_, phrase, paths) => {
    expect(pathsFor(phrase)).toEqual(paths);
  });
});
