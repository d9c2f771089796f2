import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startApp } from '../support/app.ts';
import { createSpace } from '../support/spaces.ts';

interface Span {
  name: string;
  traceId: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

/** Starts a collector that keeps the spans. */
async function startCollector() {
  const spans: Span[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as {
      resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
    };
    for (const { scopeSpans } of body.resourceSpans) {
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

test('a collector gets a span for each request, with the operation, the status and the trace of the client', async () => {
  await using collector = await startCollector();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  let requestId: string | null;
  let token: string;
  {
    await using app = await startApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const user = await app.register();
    await createSpace(user);
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    const response = await app.fetch('/api/profile/me', { headers: { traceparent } });
    requestId = response.headers.get('x-request-id');
    token = user.token;
  }
  const named = (name: string) => collector.spans.find((span) => span.name === name);
  const attributeOf = (span: Span | undefined, key: string) =>
    span?.attributes.find((each) => each.key === key)?.value;
  expect(attributeOf(named('createSpace'), 'http.response.status_code')).toEqual({ intValue: 201 });
  const read = collector.spans.find(
    (span) => attributeOf(span, 'request.id')?.stringValue === requestId,
  );
  expect(read?.traceId).toBe(traceId);
  expect(attributeOf(read, 'http.response.status_code')).toEqual({ intValue: 401 });
  expect(JSON.stringify(collector.spans)).not.toContain(token);
});
