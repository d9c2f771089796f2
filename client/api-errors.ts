import { type Client, type Config, createClient as create } from '../generated/client/index.ts';
import { toApiError } from './errors.ts';

/** Creates a client with a configuration of its own. Its failed requests throw or return an `ApiError`. */
export function createClient(config?: Config): Client {
  return withApiErrors(create(config));
}

/** Makes a client throw or return an `ApiError` for each failed request. Aborted ones keep the reason of their signal. */
export function withApiErrors(client: Client): Client {
  client.interceptors.error.use((error, response, _request, { signal }) =>
    signal?.aborted ? error : toApiError(response, error),
  );
  return client;
}
