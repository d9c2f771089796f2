import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { reportMessage, reportSpace } from '../reports/reports.ts';

const CONFIRMATION = { message: 'The operator of this server will review your report.' };

export function reportsHandlers(context: Context) {
  return {
    reportSpace: async (request, reply) => {
      const { space_id } = request.params;
      await reportSpace(context, callerOf(request), space_id, request.body.reason);
      return reply.code(200).send(CONFIRMATION);
    },

    reportMessage: async (request, reply) => {
      const { message_id } = request.params;
      await reportMessage(context, callerOf(request), message_id, request.body.reason);
      return reply.code(200).send(CONFIRMATION);
    },
  } satisfies Partial<RouteHandlers>;
}
