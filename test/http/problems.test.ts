import { describe, expect, test } from 'vitest';
import { PROBLEM_STATUSES } from '../../generated/problem-codes.gen.ts';
import type { Problem } from '../../generated/types.gen.ts';
import { contract, operations, type Response } from '../../server/contract.ts';

const statuses = Object.entries<number>(PROBLEM_STATUSES);

/** Operation, status and response. */
const errorResponses = operations.flatMap(({ operationId, responses }) =>
  Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, response]): [string, number, Response] => [
      `${operationId} ${status}`,
      Number(status),
      response,
    ]),
);

describe('The codes of the contract', () => {
  test('are explained in its introduction, with their statuses', () => {
    const rows = contract.info.description.matchAll(/^\| (`[a-z_`, ]+`) \| ([\d, ]+) \|/gm);
    const explained = [...rows].flatMap(([, codes = '', status = '']) => {
      const statusList = status.split(', ').map(Number);
      return codes
        .replaceAll('`', '')
        .split(', ')
        .map((code, i): [string, number] => [code, statusList[i] ?? (statusList[0] as number)]);
    });
    const byCode = ([a]: [string, number], [b]: [string, number]) => (a < b ? -1 : 1);
    expect(explained.sort(byCode)).toEqual([...statuses].sort(byCode));
  });

  test.each(errorResponses)('of %s have that status', (_, status, response) => {
    const codes = response['x-problem-codes'] ?? [];
    expect(codes).not.toEqual([]);
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect({ code, status }).toEqual({ code, status: statusOf(code) });
  });

  test.each(errorResponses)('of %s include those of its examples', (_, _status, response) => {
    const { example, examples = {} } = response.content?.['application/problem+json'] ?? {};
    const values = [example, ...Object.values(examples).map(({ value }) => value)];
    const shown = values.flatMap((each) => (each as Problem | undefined)?.code ?? []);
    expect(shown).not.toEqual([]);
    expect(response['x-problem-codes']).toEqual(expect.arrayContaining(shown));
  });
});

function statusOf(code: string): number | undefined {
  return statuses.find(([each]) => each === code)?.[1];
}
