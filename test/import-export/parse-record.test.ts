import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRecord } from '../../server/import-export/records.ts';
import { BadLineError } from '../../server/import-export/run.ts';
import { ada, bread, hello, validRecords } from './records.ts';

describe('parseRecord', () => {
  test.each([
    ['username', { ...ada, username: 'x'.repeat(65) }, 64],
    ['email', { ...ada, email: 'x'.repeat(255) }, 254],
    ['bio', { ...ada, bio: 'x'.repeat(2001) }, 2000],
    ['title', { ...bread, title: 'x'.repeat(121) }, 120],
    ['description', { ...bread, description: 'x'.repeat(501) }, 500],
    ['tags', { ...bread, tags: Array(11).fill('x') }, 10],
    ['tags/0', { ...bread, tags: ['x'.repeat(65)] }, 64],
    ['text', { ...hello, text: 'x'.repeat(2001) }, 2000],
    ['space_id', { ...bread, space_id: 'x'.repeat(65) }, 64],
  ])('rejects values that exceed the contract’s limit: %s', (field, record, limit) => {
    expect(() => parseRecord(JSON.stringify(record))).toThrow(
      new RegExp(`^${field} must NOT have more than ${limit} `),
    );
  });

  test.each([
    { ...ada, user_id: null },
    { ...bread, space_id: 7 },
    { ...hello, message_id: [] },
  ])('rejects an id that is not a text, and names no record then: %o', (record) => {
    const parse = () => parseRecord(JSON.stringify(record));
    expect(parse).toThrow(expect.objectContaining({ record: undefined }));
  });

  test.each(['2026-01-01T24:00:00Z', '2026-01-01T12:00Z'])(
    'rejects a time that is not an RFC 3339 time: %s',
    (created_at) => {
      expect(() => parseRecord(JSON.stringify({ ...ada, created_at }))).toThrow(
        /^created_at must be an RFC 3339 time/,
      );
    },
  );

  test.each([
    ['the record', (value: string) => value],
    ['the type', (value: string) => `{"type":${value}}`],
    ['a field', (value: string) => `{"type":"user","username":${value},"email":"\\u0041@b.c"}`],
    ['an unknown field', (value: string) => `{"type":"user","\\u0041":${value}}`],
    [
      'an item',
      (value: string) => `{"type":"space","creator_id":"a","title":"\\u0041","tags":[${value}]}`,
    ],
  ])('rejects deeply nested values as %s', (_, recordWith) => {
    for (const depth of [50_000, 2_000_000]) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const value = open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth);
        expect(() => parseRecord(recordWith(value))).toThrow(BadLineError);
      }
    }
  });

  test.each(['null', '3', '"user"', '[]', '[{"type":"user"}]'])(
    'rejects a value that is not an object: %s',
    (line) => {
      expect(() => parseRecord(line)).toThrow(/^is not a JSON object$/);
    },
  );

  test('rejects an object without a type', () => {
    expect(() => parseRecord('{"username":"ada"}')).toThrow(
      /^the record must have required property 'type'$/,
    );
  });

  test.each(['"room"', '3', 'null', '["user"]', '"toString"'])('rejects the type %s', (type) => {
    expect(() => parseRecord(`{"type":${type}}`)).toThrow(
      /^has a type other than user, space, participant, message, appreciation, block$/,
    );
  });

  test('parses or rejects any line without an internal error', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(...validRecords).map((each) => JSON.stringify(each)),
    );
    fc.assert(
      fc.property(line, (text) => {
        try {
          expect(parseRecord(text)).toHaveProperty('type');
        } catch (error) {
          expect(error).toBeInstanceOf(BadLineError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
