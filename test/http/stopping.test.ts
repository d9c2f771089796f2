import { expect, test } from 'vitest';
import { startApp } from '../support/app.ts';
import { head, openRaw } from '../support/raw.ts';

test('A stopping server responds to pending requests, and closes connections with unfinished ones', async () => {
  await using stopping = await startApp({}, { limits: { closeTimeoutMs: 1_500 } });
  const { token, email, password } = await stopping.register();
  const halves = [
    'GET /readyz HTTP/1.1\r\nHost: a\r\n',
    head('PUT', '/api/profile/bio', {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': 9,
    }),
    head('PUT', '/api/profile/picture', {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'multipart/form-data; boundary=x',
      'Content-Length': 999,
    }),
    'GET /never HTTP/1.1\r\n',
    '',
  ];
  const connections = await Promise.all(halves.map(() => openRaw(stopping.url)));
  await Promise.all(halves.map((half, i) => connections[i]?.write(half)));
  const arrived = new Promise<void>((resolve) => {
    stopping.app.server.on('request', ({ url }) => url === '/api/auth/login' && resolve());
  });
  const login = stopping.fetch('/api/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  await arrived;

  const startedAt = performance.now();
  const closed = stopping.app.close();
  const connectAgain = () =>
    fetch(stopping.url).then(
      ({ status }) => status,
      () => 'closed',
    );
  await expect.poll(connectAgain).toBe('closed');
  expect((await login).status).toBe(200);
  await connections[0]?.write('\r\n');
  const ready = await connections[0]?.readResponse();
  expect(ready?.status).toBe(503);
  expect(ready?.headers.get('retry-after')).toBe('2');
  expect(JSON.parse(ready?.body ?? '')).toMatchObject({ code: 'unavailable' });
  await closed;
  expect(performance.now() - startedAt).toBeGreaterThan(1_400);
  await Promise.all(connections.map(({ closed }) => closed));
});
