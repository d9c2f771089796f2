import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { buildApp } from '../../../server/app.ts';
import { readConfig } from '../../../server/config.ts';
import { openContext } from '../../../server/context.ts';
import type { Answer } from './constant.ts';

// The same application and hooks, without validation and database for this route.
const answers: Answer[] = JSON.parse(readFileSync(process.env.ANSWERS as string, 'utf8'));
const config = readConfig(process.env);
const context = await openContext(config, pino({ level: config.logLevel }));
const app = await buildApp(context);
app.get<{ Params: { number: string } }>('/constant/:number', (request, reply) => {
  const { body, link } = answers[Number(request.params.number)] as Answer;
  if (link) reply.header('link', link);
  return reply.type('application/json').code(200).send(body);
});
await app.listen({ host: config.host, port: config.port });
