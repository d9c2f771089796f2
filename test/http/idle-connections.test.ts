import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { startApp } from '../support/app.ts';
import { openRaw } from '../support/raw.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('A connection that waits for its next request keeps nothing of the last one in memory', async () => {
  await using app = await startApp();
  const responses: WeakRef<object>[] = [];
  app.app.server.on('request', (_, response) => responses.push(new WeakRef(response)));
  using connection = await openRaw(app.url);
  await connection.write('GET /api/tags HTTP/1.1\r\nHost: a\r\n\r\n');
  expect((await connection.readResponse())?.status).toBe(200);
  const kept = () => {
    collectGarbage();
    return responses.map((response) => response.deref() !== undefined);
  };
  await expect.poll(kept).toEqual([false]);
});
