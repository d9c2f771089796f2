/**
 * Returns a `fetch` that reports how much of a body has been sent, which the global one of browsers cannot do. Pass it to
 * an upload: `changeProfilePicture({ body, fetch: fetchWithProgress(show) })`.
 * @param onProgress is called with the part that has been sent, from 0 to 1
 */
export function fetchWithProgress(onProgress: (part: number) => void): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { url, method, headers, signal } = request;
    const body = await request.blob();
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const upload = new XMLHttpRequest();
      upload.open(method, url);
      for (const [name, value] of headers) upload.setRequestHeader(name, value);
      upload.responseType = 'blob';
      upload.upload.onprogress = ({ loaded, total }) =>
        onProgress(total === 0 ? 1 : loaded / total);
      upload.onload = () => resolve(responseOf(upload));
      upload.onerror = () => reject(new TypeError('Failed to fetch'));
      upload.onabort = () => reject(signal.reason);
      signal.addEventListener('abort', () => upload.abort());
      upload.send(body);
    });
  };
}

/** The statuses of responses without a body, whose constructor accepts none. */
const EMPTY_STATUSES = [204, 205, 304];

function responseOf(upload: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const line of upload.getAllResponseHeaders().trim().split('\r\n')) {
    const [name = '', ...value] = line.split(':');
    headers.append(name, value.join(':').trim());
  }
  const body = EMPTY_STATUSES.includes(upload.status) ? null : upload.response;
  return new Response(body, { status: upload.status, headers });
}
