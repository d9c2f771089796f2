import { defineConfig } from '@kubb/core';
import { pluginClient } from '@kubb/plugin-client';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginReactQuery } from '@kubb/plugin-react-query';
import { pluginTs } from '@kubb/plugin-ts';

export default defineConfig({
  input: { path: 'openapi.yaml' },
  output: { path: 'client', clean: true },
  plugins: [
    pluginOas({ validate: false, generators: [] }),
    pluginTs(),
    pluginClient({ client: 'fetch', bundle: true }),
    pluginReactQuery({
      client: { client: 'fetch', bundle: true },
      suspense: false,
      override: [
        {
          type: 'operationId',
          // The operations whose responses have next_cursor.
          pattern: /^list/,
          options: {
            infinite: {
              queryParam: 'cursor',
              nextParam: 'next_cursor',
              initialPageParam: undefined,
            },
          },
        },
      ],
    }),
  ],
});
