/**
 * The handlers of a server that implements the contract, by `operationId`. Types only: requires the
 * types of Fastify, but no code of it.
 */
export type { RouteHandlers } from '../generated/fastify.gen.ts';
