import { afterEach, expect, test, vi } from 'vitest';
import { fetchWithProgress } from '../../client/index.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Browsers have XMLHttpRequest, Node.js does not. The web page is tested with the real one. */
function stubRequest(status: number, text: string, sent: { loaded: number; total: number }): void {
  class Upload {
    upload = { onprogress: (_event: typeof sent) => {} };
    status = status;
    response = new Blob([text]);
    onload = () => {};
    open() {}
    setRequestHeader() {}
    getAllResponseHeaders = () => 'content-type: application/json\r\n';
    send() {
      this.upload.onprogress(sent);
      this.onload();
    }
  }
  vi.stubGlobal('XMLHttpRequest', Upload);
}

test('reports the part that has been sent, and returns the response', async () => {
  stubRequest(200, '{"ok":true}', { loaded: 1, total: 4 });
  const onProgress = vi.fn();
  const response = await fetchWithProgress(onProgress)('http://service.test');
  expect(await response.json()).toEqual({ ok: true });
  expect(response.headers.get('Content-Type')).toBe('application/json');
  expect(onProgress).toHaveBeenCalledExactlyOnceWith(0.25);
});

test.each([204, 205, 304])(
  'returns a response with status %d, which has no body',
  async (status) => {
    stubRequest(status, '', { loaded: 0, total: 0 });
    const onProgress = vi.fn();
    const response = await fetchWithProgress(onProgress)('http://service.test');
    expect([response.status, response.body]).toEqual([status, null]);
    expect(onProgress).toHaveBeenCalledExactlyOnceWith(1);
  },
);
