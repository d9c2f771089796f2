import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations, reservedValues } from '../../server/contract.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { startApp } from '../support/app.ts';
import { toLines } from '../support/ndjson.ts';
import { exampleRequest } from '../support/requests.ts';
import { type EmptyDatabases, exportLines, prepareDatabases } from './databases.ts';
import { ada, bob, bread, hello, joined, validRecords } from './records.ts';

/** The valid ids among the segments of the contract's paths. */
const segments = new Set(
  operations
    .flatMap(({ path }) => path.split('/'))
    .filter((segment) => /^[A-Za-z0-9_-]{1,64}$/.test(segment)),
);

let databases: EmptyDatabases;
beforeAll(async () => {
  databases = await prepareDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

describe('reservedValues', () => {
  test('returns the segments at the place of a parameter in other paths', () => {
    expect(reservedValues('space_id')).toEqual(new Set(['search', 'tag']));
    // An export replaces only reserved ids of spaces.
    expect(reservedValues('user_id')).toEqual(new Set());
    expect(reservedValues('message_id')).toEqual(new Set());
  });

  test('returns every id with which a request does not reach its operation', async () => {
    await using app = await startApp();
    const { headers } = await app.register();
    for (const name of ['space_id', 'user_id', 'message_id']) {
      const unreachable = new Set<string>();
      const withId = operations.filter((operation) =>
        operation.parameters.some((each) => each.in === 'path' && each.name === name),
      );
      for (const operation of withId) {
        const respond = async (id: string) => {
          const { url, init } = exampleRequest(operation, { [name]: id });
          const all = { ...(init.headers as Record<string, string>), ...headers };
          const response = await app.fetch(url, { ...init, headers: all });
          return `${response.status} ${(await response.json()).code}`;
        };
        const expected = await respond('unknown-id');
        for (const segment of segments) {
          if ((await respond(segment)) !== expected) unreachable.add(segment);
        }
      }
      expect(unreachable).toEqual(reservedValues(name));
    }
  });

  test('returns the ids that the documentation of the export format lists', () => {
    const text = readFileSync(new URL('../../docs/data.md', import.meta.url), 'utf8');
    for (const id of reservedValues('space_id')) expect(text).toContain(`\`${id}\``);
  });
});

describe.each([...reservedValues('space_id')])('A space with the reserved id %s', (space_id) => {
  const space = { ...bread, space_id };

  test('is rejected by an import, which imports the other records with --skip-bad', async () => {
    await using engine = await databases.open();
    const lines = () => toLines([ada, space, bob]);
    const reason = 'space_id must not be search or tag, which are fixed segments of API paths';
    const bad = [{ line: 2, reason }];
    await expect(importRecords(engine, lines())).rejects.toMatchObject({ report: { bad } });
    const report = await importRecords(engine, lines(), { skipBad: true });
    expect(report).toEqual({ added: 2, unchanged: 0, bad });
  });

  test('that an older version imported has another id in exports, which can be imported', async () => {
    await using first = await databases.open();
    await importRecords(first, toLines(validRecords));
    await first.db
      .updateTable('spaces')
      .set({ space_id })
      .where('space_id', '=', bread.space_id)
      .execute();
    const lines = await exportLines(first);
    const newId = lines
      .map((line) => JSON.parse(line))
      .find(({ type }) => type === 'space').space_id;
    expect(newId).toMatch(/^[A-Za-z0-9_-]{22}$/);
    await using second = await databases.open();
    await importRecords(second, toLines(lines));
    expect(await exportLines(second)).toEqual(lines);

    // Records of an older file can still refer to the space.
    const report = await importRecords(
      first,
      toLines([
        { ...joined, space_id },
        { ...hello, space_id, message_id: 'new' },
      ]),
    );
    expect(report).toEqual({ added: 1, unchanged: 1, bad: [] });
  });
});
