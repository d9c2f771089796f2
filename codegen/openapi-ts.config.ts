import type { UserConfig } from '@hey-api/openapi-ts';

/** What is made of the contract: types, a fetch SDK for clients, and the interface of the server's handlers. */
export default {
  input: 'openapi.yaml',
  output: { path: 'generated', importFileExtension: '.ts' },
  plugins: ['@hey-api/typescript', '@hey-api/client-fetch', '@hey-api/sdk', 'fastify'],
  logs: { level: 'silent' },
} satisfies UserConfig;
