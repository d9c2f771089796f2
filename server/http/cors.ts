import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import { CORS_METHODS, EXPOSED_HEADERS, PREFLIGHT_MAX_AGE_SECONDS } from './cors-headers.ts';

/** Allows browser applications from the configured origins to call the API. */
export async function allowOrigins(
  app: FastifyInstance,
  { corsOrigins }: Pick<Config, 'corsOrigins'>,
): Promise<void> {
  await app.register(cors, {
    origin: corsOrigins,
    methods: CORS_METHODS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    // Otherwise OPTIONS requests without preflight headers get 400 in plain text instead of a problem document.
    strictPreflight: false,
  });
}
