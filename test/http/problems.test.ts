import { describe, expect, test } from 'vitest';
import { PROBLEM_STATUSES } from '../../generated/problem-codes.gen.ts';
import type { Problem } from '../../generated/types.gen.ts';
import {
  contract,
  type Operation,
  operations,
  type Response,
  resolveReference,
} from '../../server/contract.ts';

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

  test.each(errorResponses)(
    'of %s have one example each, named by the code',
    (_, _status, response) => {
      const { example, examples } = response.content?.['application/problem+json'] ?? {};
      const codes = response['x-problem-codes'];
      // A single example has no name.
      if (codes?.length === 1) expect(example).toMatchObject({ code: codes[0] });
      else {
        const named = Object.entries(examples ?? {});
        expect(named.map(([name]) => name)).toEqual(codes);
        for (const [name, { value }] of named) expect(value).toMatchObject({ code: name });
      }
    },
  );

  test.each(errorResponses)('of %s have examples that name no other input', (name, _, response) => {
    const [operationId] = name.split(' ');
    const operation = operations.find((each) => each.operationId === operationId) as Operation;
    const { example, examples = {} } = response.content?.['application/problem+json'] ?? {};
    const values = [example, ...Object.values(examples).map(({ value }) => value)];
    const errors = values.flatMap((each) => (each as Problem | undefined)?.errors ?? []);
    const names = errors.map(({ pointer, name }) => pointer?.slice(1) ?? name);
    const [media] = Object.values(operation.requestBody?.content ?? {});
    const { properties = {} } = media ? resolveReference(contract, media.schema) : {};
    const inputs = [...operation.parameters.map((each) => each.name), ...Object.keys(properties)];
    expect(names.filter((each) => !inputs.includes(each ?? ''))).toEqual([]);
  });
});

function statusOf(code: string): number | undefined {
  return statuses.find(([each]) => each === code)?.[1];
}
