import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { MAX_WAIT_MS, overloaded } from '../system/concurrency.ts';
import { takeTurn } from '../system/event-loop.ts';
import { currentSender, type Sender } from '../system/senders.ts';
import { rememberedAccount } from './authentication.ts';
import { clientKey, networkKey } from './client-key.ts';
import { corsHeaders } from './cors-headers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose turns the request takes. Null for routes that always respond. */
    sender: Sender | null;
  }
}

const FOLLOWABLE_LISTS: readonly string[] = ['listMessages', 'listParticipations'];

let requests = 0;

/**
 * Makes requests wait for their turn of the event loop, see `docs/fair-shares.md`. Nothing of a request is processed
 * before it, so that a request that will be rejected waits like any other.
 *
 * Rejects requests with 503 that have waited for too long, except those that may wait for events: a message makes all
 * readers of a space send their next request at the same time.
 */
export function takeTurns(
  app: FastifyInstance,
  { corsOrigins }: Pick<Config, 'corsOrigins'>,
): void {
  app.decorateRequest('sender', null);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.takesNoTurns) return done();
    request.sender = senderOf(request);
    const reject = (error: Error) => {
      // Set here, because the hook that sets them for other responses has not run.
      reply.headers(corsHeaders(corsOrigins, request.headers.origin));
      done(error);
    };
    // The client may have disconnected while the request waited.
    const begin = () => (reply.raw.closed ? reject(overloaded()) : done());
    const maxWaitMs = mayWaitForEvents(request) ? Infinity : MAX_WAIT_MS;
    takeTurn(request.sender, begin, reject, maxWaitMs);
  });
  // The asynchronous context of the sender is lost when Fastify reads a body.
  app.addHook('preValidation', (request, _reply, done) => resumeTurn(request, done));
}

/** Calls `resume` in a turn of the sender of the request. */
export function resumeTurn({ sender }: FastifyRequest, resume: () => void): void {
  if (sender === null || currentSender() === sender) resume();
  else takeTurn(sender, resume);
}

function senderOf(request: FastifyRequest): Sender {
  requests += 1;
  return {
    network: networkKey(request),
    account: rememberedAccount(request) ?? clientKey(request),
    request: requests,
  };
}

function mayWaitForEvents({ routeOptions, query }: FastifyRequest): boolean {
  const { operation } = routeOptions.config;
  const { wait } = query as { wait?: unknown };
  return FOLLOWABLE_LISTS.includes(operation?.operationId ?? '') && Number(wait) > 0;
}
