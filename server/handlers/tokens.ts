import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { readPageBody } from '../http/pages.ts';
import { audit } from '../system/audit-log.ts';
import { issueToken, listTokens, revokeToken } from '../tokens/tokens.ts';

export function tokensHandlers(context: Context) {
  const { engine } = context;
  return {
    listTokens: async (request, reply) => {
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listTokens(engine, callerOf(request), pageRequest),
      );
      return reply.code(200).send(page);
    },

    createToken: async (request, reply) => {
      const caller = callerOf(request);
      const token = await issueToken(context, caller, request.body);
      const { token_id: tokenId, scopes } = token;
      audit(request.log, 'access token created', { userId: caller.userId, tokenId, scopes });
      return reply.code(201).send(token);
    },

    revokeToken: async (request, reply) => {
      const caller = callerOf(request);
      const { token_id: tokenId } = request.params;
      await revokeToken(engine, caller, tokenId);
      audit(request.log, 'access token revoked', { userId: caller.userId, tokenId });
      return reply.code(200).send({ message: 'The access token is revoked.' });
    },
  } satisfies Partial<RouteHandlers>;
}
