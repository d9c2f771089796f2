import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contract, readOperations } from '../server/contract.ts';

/**
 * Changes what no setting of the generator can change in its output.
 * @throws Error if a file has another form, as after an update of the generator
 */
export function adaptOutput(folder: string, contract: Contract): void {
  const keyedWrites = readOperations(contract)
    .filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'))
    .map(({ operationId }) => operationId);
  // Clients throw and return failed requests as ApiError. Plugins take the type of errors from that of responses, which
  // the handlers of the server need.
  adapt(join(folder, 'sdk.gen.ts'), [
    [/\b\w+Errors, ThrowOnError>/g, 'ApiError, ThrowOnError>'],
    [/ \w+Errors,/g, ''],
    ['\n\n', "\n\nimport type { ApiError } from '../client/errors.ts';\n"],
  ]);
  // A configuration cannot contain interceptors.
  adapt(join(folder, 'client.gen.ts'), [
    [/(?<=export const client: Client = )(.*);/, 'withApiErrors($1);'],
    ['\n\n', "\n\nimport { withApiErrors } from '../client/api-errors.ts';\n"],
  ]);
  adapt(join(folder, '@tanstack/react-query.gen.ts'), [
    [/(?<=Response, )\w+Error,/g, 'ApiError,'],
    [/ (?!Api)\w+Error,/g, ''],
    // Those of the client fit `exactOptionalPropertyTypes`.
    [
      'import { type InfiniteData, infiniteQueryOptions, queryOptions, type UseMutationOptions }',
      'import type { InfiniteData, UseMutationOptions }',
    ],
    // Those of the client send an Idempotency-Key.
    ...keyedWrites.map((name): Change => [new RegExp(`(?<=import \\{.*) ${name},(?=.*/sdk)`), '']),
    [
      'import { client }',
      `import type { ApiError } from '../../client/errors.ts';
import { ${keyedWrites.join(', ')} } from '../../client/keyed-writes.ts';
import { infiniteQueryOptions, queryOptions } from '../../client/query-options.ts';
import { client }`,
    ],
    // The generator knows only the parameter of the next page, not where a page has its value.
    [
      /(?<=queryKey: \w+InfiniteQueryKey\(options\))\n/g,
      ',\n        initialPageParam: undefined as unknown as string,\n        getNextPageParam: ({ next_cursor }) => next_cursor\n',
    ],
  ]);
}

type Change = [pattern: string | RegExp, replacement: string];

function adapt(file: string, changes: readonly Change[]): void {
  let code = readFileSync(file, 'utf8');
  for (const [pattern, replacement] of changes) {
    const changed = code.replace(pattern, replacement);
    if (changed === code) throw new Error(`${file} does not contain ${pattern}.`);
    code = changed;
  }
  writeFileSync(file, code);
}
