import type { UserConfig } from '@hey-api/openapi-ts';

/** Generates types, a fetch SDK for clients and the server's handler interface from the contract. */
export default {
  input: 'openapi.yaml',
  output: { path: 'generated', importFileExtension: '.ts' },
  plugins: ['@hey-api/typescript', '@hey-api/client-fetch', '@hey-api/sdk', 'fastify'],
  logs: { level: 'silent' },
} satisfies UserConfig;
