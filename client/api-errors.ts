import { type Client, type Config, createClient as create } from '../generated/client/index.ts';
import { toApiError } from './errors.ts';

/** Creates a client with a configuration of its own. Its failed requests throw or return an `ApiError`. */
export function createClient(config?: Config): Client {
  return withApiErrors(create(config));
}

/**
 * Makes a client throw or return an `ApiError` for each failed request, also if another server has responded with
 * success, such as the sign-in page of a network. Aborted requests keep the reason of their signal.
 */
export function withApiErrors(client: Client): Client {
  // Parses every response as JSON, because a proxy may drop or change the content type.
  if (client.getConfig().parseAs === 'auto') client.setConfig({ parseAs: 'json' });
  client.setConfig({ responseValidator: rejectEmpty });
  client.interceptors.response.use((response) => {
    const { status, headers } = response;
    const isEmpty = status === 204 || headers.get('Content-Length') === '0';
    const isPage = headers.get('Content-Type')?.startsWith('text/html');
    if (response.ok && (isEmpty || isPage)) throw new TypeError('The response is not JSON.');
    return response;
  });
  client.interceptors.error.use((error, response, _request, { signal }) =>
    signal?.aborted ? error : toApiError(response, error),
  );
  return client;
}

/** The generated client parses an empty body as `{}`, and no response of the service is an empty object. */
async function rejectEmpty(data: unknown): Promise<void> {
  const isEmpty = !Array.isArray(data) && Object.keys(Object(data)).length === 0;
  if (typeof data !== 'object' || isEmpty) throw new TypeError('The response is not an object.');
}
