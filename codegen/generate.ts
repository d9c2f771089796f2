import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createClient,
  definePluginConfig,
  type Plugins,
  type UserConfig,
} from '@hey-api/openapi-ts';
import { parse } from 'yaml';
import type { Contract } from '../server/contract.ts';

type TypeContext<Kind extends 'object' | 'string'> = Parameters<
  NonNullable<Plugins.HeyApiTypeScript.Resolvers[Kind]>
>[0];

/** Omits infinite queries for operations that return arrays, whose cursor is in a header. `listSpaces` returns pages. */
const infiniteQueries = definePluginConfig({
  name: 'infinite-queries',
  config: {},
  handler: ({ plugin }) =>
    plugin.forEach('operation', ({ operation }) => {
      const isArray = operation.responses?.['200']?.schema.type === 'array';
      if (isArray) delete operation.parameters?.query?.cursor?.pagination;
    }),
});

const config = {
  input: 'openapi.yaml',
  // JSON has numbers, and no value is larger than the largest safe integer.
  parser: { patch: deleteInt64 },
  plugins: [
    {
      name: '@hey-api/typescript',
      $resolvers: { string: openUnion, object: acceptUndefined },
    },
    '@hey-api/client-fetch',
    '@hey-api/sdk',
    'fastify',
    {
      name: 'zod',
      $resolvers: {
        // The generator takes files for strings.
        string: ({ $, schema, symbols: { z } }) =>
          schema.format === 'binary' ? $(z).attr('instanceof').call('Blob') : undefined,
      },
    },
    infiniteQueries(),
    {
      name: '@tanstack/react-query',
      mutationOptions: { meta: ({ id }) => ({ operation: id }) },
    },
  ],
  logs: { level: 'silent' },
} satisfies Partial<UserConfig>;

/**
 * Returns an open union for a text with known values, so that editors suggest them. The contract declares plain strings,
 * because no schema is an open union for all generators: with `anyOf`, some return a class or stop at an unknown value.
 */
function openUnion({ $, plugin, schema }: TypeContext<'string'>) {
  const values = schema['x-extensible-enum'] as string[] | undefined;
  const known = schema['x-problem-statuses']
    ? [$.type(plugin.symbol('ProblemCode', { external: './problem-codes.gen.ts', kind: 'type' }))]
    : values?.map((value) => $.type.literal(value));
  return known && $.type.or(...known, $.type.and($.type('string'), $.type.object()));
}

/** Accepts `undefined` in optional properties, such as the cursor of a first page. The client omits them. */
function acceptUndefined(context: TypeContext<'object'>) {
  const { $, nodes, schema, walk } = context;
  const required = (schema.required ?? []).map((name) => schema.properties?.[name]);
  return nodes.base({
    ...context,
    walk: (property, walkContext) => {
      const result = walk(property, walkContext);
      if (required.includes(property)) return result;
      return { ...result, type: $.type.or(result.type, $.type('undefined')) };
    },
  });
}

function deleteInt64(schema: object): void {
  if ('format' in schema && schema.format === 'int64') delete schema.format;
  for (const value of Object.values(schema)) {
    if (typeof value === 'object' && value !== null) deleteInt64(value);
  }
}

/**
 * Generates from the contract: types, a fetch SDK for clients, options for TanStack Query, Zod schemas, the server's
 * handler interface, the problem codes, the quotas, the examples, and the JSON Schema of an exported record. Also writes the contract
 * as JSON, because parsing YAML takes 150 times as long.
 * @param folder its former content is deleted
 */
export async function generate(folder: string): Promise<void> {
  await createClient({ ...config, output: { path: folder, importFileExtension: '.ts' } });
  const contract: Contract = parse(readFileSync(config.input, 'utf8'));
  writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(contract, null, 2)}\n`);
  // Not at the top, because these modules read the JSON file that is written first.
  const { adaptOutput } = await import('./adapt-output.ts');
  adaptOutput(folder, contract);
  const { problemCodes } = await import('./problem-codes.ts');
  writeFileSync(join(folder, 'problem-codes.gen.ts'), problemCodes(contract));
  const { countedOperations } = await import('./counted-operations.ts');
  writeFileSync(join(folder, 'counted-operations.gen.ts'), countedOperations(contract));
  const { examples } = await import('./examples.ts');
  writeFileSync(join(folder, 'examples.gen.ts'), examples(contract));
  const { withMessages } = await import('./zod-messages.ts');
  const zodFile = join(folder, 'zod.gen.ts');
  writeFileSync(zodFile, withMessages(readFileSync(zodFile, 'utf8')));
  const { schemas } = await import('../server/import-export/records.ts');
  const recordSchema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    oneOf: Object.values(schemas),
  };
  writeFileSync(join(folder, 'export-record.json'), `${JSON.stringify(recordSchema, null, 2)}\n`);
}

if (import.meta.main) await generate('generated');
