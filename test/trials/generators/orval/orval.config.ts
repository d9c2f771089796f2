import { defineConfig } from 'orval';

export default defineConfig({
  spaceService: {
    input: 'openapi.yaml',
    output: {
      target: 'client.ts',
      client: 'fetch',
      // Otherwise the client sends tags such as a/b unencoded.
      urlEncodeParameters: true,
      override: {
        // Adds the URL of the server, which the client does not read from the contract.
        mutator: { path: 'request.ts', name: 'request' },
      },
    },
  },
});
