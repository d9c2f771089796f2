import type { Operation } from '../contract.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the contract that the route serves. Undefined for all other routes. */
    operation?: Operation;
    /** Whether the route responds even while the server sheds load. */
    isExemptFromLoadShedding?: boolean;
  }
}
