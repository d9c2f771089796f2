import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';

/** Allows browser applications from the configured origins to call the API. */
export async function allowOrigins(
  app: FastifyInstance,
  { corsOrigins }: Pick<Config, 'corsOrigins'>,
): Promise<void> {
  await app.register(cors, {
    origin: corsOrigins,
    methods: ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: [
      'Answered-Query',
      'Link',
      'Retry-After',
      'WWW-Authenticate',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
    ],
    maxAge: 86_400,
    // Otherwise OPTIONS requests without preflight headers get 400 in plain text instead of a problem document.
    strictPreflight: false,
  });
}
