import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ParticipantRecord } from '../../../server/import-export/participants.ts';
import { type DataRecord, parseRecord } from '../../../server/import-export/records.ts';
import type { SpaceRecord } from '../../../server/import-export/spaces.ts';
import { convertPackages, MAX_PARTICIPANTS, USERS } from './corpus.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-service-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function convert(...rows: string[]): Promise<string[]> {
  const file = join(folder, 'packages.tsv');
  await writeFile(
    file,
    `${['name\tversion\tdownloads_a_month\tsummary (English)', ...rows].join('\n')}\n`,
  );
  return readAll(file);
}

async function readAll(file: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of convertPackages(file)) lines.push(line);
  return lines;
}

const recordsOf = <T extends DataRecord>(lines: string[], type: T['type']) =>
  lines.map(parseRecord).filter((each): each is T => each.type === type);

describe('A package list as a corpus', () => {
  test('is converted to valid records of public spaces, the same in each run', async () => {
    const rows = ['one\t1.0.0\t500\tThe first', `two\t1.0.0\t900\t${'😀 '.repeat(300)}`];
    const lines = await convert(...rows);
    const spaces = recordsOf<SpaceRecord>(lines, 'space');
    expect(spaces.map(({ title }) => title)).toEqual(['one', 'two']);
    expect(spaces[0]?.description).toBe('The first');
    // The first 500 code points, without the space at their end.
    expect([...(spaces[1]?.description ?? '')]).toHaveLength(499);
    expect(await convert(...rows)).toEqual(lines);
  });

  test('may have summaries with line separators', async () => {
    const lines = await convert('one\t1.0.0\t500\tThe\u2028first\u0007 one', 'two\t1.0.0\t1\t');
    const spaces = recordsOf<SpaceRecord>(lines, 'space');
    expect(spaces.map(({ description }) => description)).toEqual(['The first one', '']);
  });

  test('determines participants by downloads on a logarithmic scale, each user once', async () => {
    const lines = await convert(
      'a\t1\t1000\t',
      'b\t1\t1000000\t',
      'c\t1\t1000000000\t',
      'd\t1\t\t',
    );
    const joined = recordsOf<ParticipantRecord>(lines, 'participant');
    const users = recordsOf<SpaceRecord>(lines, 'space').map(
      ({ space_id, creator_id }) =>
        new Set([
          creator_id,
          ...joined.filter((each) => each.space_id === space_id).map(({ user_id }) => user_id),
        ]),
    );
    const middle = Math.round(Math.sqrt(MAX_PARTICIPANTS));
    expect(users.map(({ size }) => size)).toEqual([1, middle, MAX_PARTICIPANTS, 1]);
    expect(joined).toHaveLength(middle - 1 + MAX_PARTICIPANTS - 1);
    expect(MAX_PARTICIPANTS).toBeLessThanOrEqual(USERS);
  });

  test('is rejected without a header line', async () => {
    const file = join(folder, 'packages.tsv');
    await writeFile(file, 'one\t1.0.0\t500\tThe first\n');
    await expect(readAll(file)).rejects.toThrow(/needs a header line/);
  });
});
