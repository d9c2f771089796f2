import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type UserConfig } from '@hey-api/openapi-ts';
import { parse } from 'yaml';
import type { Contract } from '../server/contract.ts';
import { adaptOutput } from './adapt-output.ts';

const config = {
  input: 'openapi.yaml',
  // JSON has numbers, and no value is larger than the largest safe integer.
  parser: { patch: deleteInt64 },
  plugins: [
    '@hey-api/typescript',
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
    {
      name: '@tanstack/react-query',
      mutationOptions: { meta: ({ id }) => ({ operation: id }) },
    },
  ],
  logs: { level: 'silent' },
} satisfies Partial<UserConfig>;

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
  adaptOutput(folder, contract);
  writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(contract, null, 2)}\n`);
  // Not at the top, because these modules read the JSON file that is written first.
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
