import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { authHandlers } from './auth.ts';
import { blocksHandlers } from './blocks.ts';
import { messagesHandlers } from './messages.ts';
import { profileHandlers } from './profile.ts';
import { reportsHandlers } from './reports.ts';
import { searchHandlers } from './search.ts';
import { serverHandlers } from './server.ts';
import { spacesHandlers } from './spaces.ts';
import { tokensHandlers } from './tokens.ts';
import { usersHandlers } from './users.ts';

/** Returns a handler for every operation of the contract. A missing one is a type error. */
export function makeHandlers(context: Context): RouteHandlers {
  return {
    ...searchHandlers(context),
    ...profileHandlers(context),
    ...authHandlers(context),
    ...tokensHandlers(context),
    ...spacesHandlers(context),
    ...messagesHandlers(context),
    ...usersHandlers(context),
    ...blocksHandlers(context),
    ...reportsHandlers(context),
    ...serverHandlers(context),
  };
}
