import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Contract } from '../server/contract.ts';

/**
 * Changes what no setting of the generator can change in its output.
 * @throws Error if a file has another form, as after an update of the generator
 */
export function adaptOutput(folder: string, contract: Contract): void {
  adapt(join(folder, 'types.gen.ts'), [
    // An open union, so that editors suggest the codes. The contract declares a plain string, because no schema is an
    // open union for all generators: with `anyOf`, some return a class or stop at an unknown code.
    [/^(export type Problem = \{.*?\n {4}code: )string;/ms, '$1ProblemCode | (string & {});'],
    ['\n\n', "\n\nimport type { ProblemCode } from './problem-codes.gen.ts';\n\n"],
    // With `exactOptionalPropertyTypes`, such as a cursor of the first page. The client omits them.
    [/^( +[\w']+\?: .*);$/gm, '$1 | undefined;'],
    ...openEnums(contract),
  ]);
  // Clients throw and return failed requests as ApiError.
  adapt(join(folder, 'sdk.gen.ts'), [
    [/\b\w+Errors, ThrowOnError>/g, 'ApiError, ThrowOnError>'],
    [/ \w+Errors,/g, ''],
    ['\n\n', "\n\nimport type { ApiError } from '../client/errors.ts';\n"],
  ]);
  adapt(join(folder, 'client.gen.ts'), [
    [/(?<=export const client: Client = )(.*);/, 'withApiErrors($1);'],
    ['\n\n', "\n\nimport { withApiErrors } from '../client/api-errors.ts';\n"],
  ]);
  adapt(join(folder, '@tanstack/react-query.gen.ts'), [
    [/(?<=Response, )\w+Error,/g, 'ApiError,'],
    [/ (?!Api)\w+Error,/g, ''],
    [
      'import { client }',
      "import type { ApiError } from '../../client/errors.ts';\nimport { client }",
    ],
    [
      "import { type InfiniteData, infiniteQueryOptions, queryOptions, type UseMutationOptions } from '@tanstack/react-query';\n",
      "import type { InfiniteData, UseMutationOptions } from '@tanstack/react-query';\n",
    ],
    [
      "import type { ApiError } from '../../client/errors.ts';\n",
      "import type { ApiError } from '../../client/errors.ts';\nimport { infiniteQueryOptions, queryOptions } from '../../client/query-options.ts';\n",
    ],
    // Those of the client send an Idempotency-Key.
    [
      /(?<=import \{.*) createSpace,(.*) editMessage,(.*) renewInvitationCode,(.*) sendMessage,(.*) updateSpace,(.*'\.\.\/sdk\.gen\.ts';)/,
      "$1$2$3$4$5\nimport { createSpace, editMessage, renewInvitationCode, sendMessage, updateSpace } from '../../client/keyed-writes.ts';",
    ],
    // Both searches return arrays, whose cursor is in a header. listSpaces returns the same lists as pages.
    [/export const searchSpaces(ByTag)?InfiniteQueryKey = .*\n\n/g, ''],
    [
      /\/\*\*\n(?: \*.*\n)+export const searchSpaces(ByTag)?InfiniteOptions = .*\n(?: .*\n)+\};\n\n/g,
      '',
    ],
    [
      /(?<=queryKey: \w+InfiniteQueryKey\(options\))\n/g,
      ',\n        initialPageParam: undefined as unknown as string,\n        getNextPageParam: ({ next_cursor }) => next_cursor\n',
    ],
  ]);
}

/** Returns changes of texts with known values to open unions. */
function openEnums({ components }: Contract): Change[] {
  return Object.entries(components.schemas).flatMap(([schema, { properties = {} }]) =>
    Object.entries(properties).flatMap(([name, { 'x-extensible-enum': values }]): Change[] => {
      if (!values) return [];
      const field = new RegExp(`^(export type ${schema} = \\{.*?\\n {4}${name}: )string;`, 'ms');
      return [[field, `$1${values.map((each) => `'${each}' | `).join('')}(string & {});`]];
    }),
  );
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
