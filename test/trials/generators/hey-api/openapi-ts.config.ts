import type { UserConfig } from '@hey-api/openapi-ts';

export default {
  input: 'openapi.yaml',
  // Node.js requires the extension.
  output: { path: 'client', importFileExtension: '.ts' },
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    'zod',
    // Not of requests, because the Zod schema of a file accepts only strings.
    { name: '@hey-api/sdk', validator: { response: 'zod' } },
  ],
} satisfies UserConfig;
