import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { authHandlers } from './auth.ts';
import { messagesHandlers } from './messages.ts';
import { profileHandlers } from './profile.ts';
import { searchHandlers } from './search.ts';
import { spacesHandlers } from './spaces.ts';
import { usersHandlers } from './users.ts';

/** A handler for every operation of the contract: leaving one out does not compile. */
export function makeHandlers(context: Context) {
  return {
    ...searchHandlers(context),
    ...profileHandlers(context),
    ...authHandlers(context),
    ...spacesHandlers(context),
    ...messagesHandlers(context),
    ...usersHandlers(context),
  } satisfies RouteHandlers;
}
