import type { Operation } from '../contract.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the contract that the route serves. Undefined for all other routes. */
    operation?: Operation;
    /** Whether requests to the route never wait for their turn. */
    takesNoTurns?: boolean;
  }
}
