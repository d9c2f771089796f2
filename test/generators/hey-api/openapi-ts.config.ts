import type { UserConfig } from '@hey-api/openapi-ts';

export default {
  input: 'openapi.yaml',
  // Node.js requires the extension.
  output: { path: 'client', importFileExtension: '.ts' },
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    'zod',
    // Validates requests and responses.
    { name: '@hey-api/sdk', validator: true },
  ],
} satisfies UserConfig;
