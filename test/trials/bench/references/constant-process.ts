import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { buildApp } from '../../../../server/app.ts';
import { readConfig } from '../../../../server/config.ts';
import { openContext } from '../../../../server/context.ts';
import type { CachedResponse } from './constant.ts';

// The same application with the same hooks, but this route has no validation and no database query.
const responses: CachedResponse[] = JSON.parse(
  readFileSync(process.env.RESPONSES as string, 'utf8'),
);
const config = readConfig(process.env);
const context = await openContext(config, pino({ level: config.logLevel }));
const app = await buildApp(context);
app.get<{ Params: { number: string } }>('/constant/:number', (request, reply) => {
  const { body, headers } = responses[Number(request.params.number)] as CachedResponse;
  return reply.headers(headers).type('application/json').code(200).send(body);
});
await app.listen({ host: config.host, port: config.port });
