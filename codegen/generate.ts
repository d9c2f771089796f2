import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type UserConfig } from '@hey-api/openapi-ts';
import { parse } from 'yaml';

const config = {
  input: 'openapi.yaml',
  plugins: ['@hey-api/typescript', '@hey-api/client-fetch', '@hey-api/sdk', 'fastify'],
  logs: { level: 'silent' },
} satisfies Partial<UserConfig>;

/**
 * Generates types, a fetch SDK for clients and the server's handler interface from the contract. Also writes the
 * contract as JSON, because parsing YAML takes 150 times as long.
 * @param folder its former content is deleted
 */
export async function generate(folder: string): Promise<void> {
  await createClient({ ...config, output: { path: folder, importFileExtension: '.ts' } });
  const contract = parse(readFileSync(config.input, 'utf8'));
  writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(contract, null, 2)}\n`);
}

if (import.meta.main) await generate('generated');
