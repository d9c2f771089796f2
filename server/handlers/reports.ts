import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { readPageBody } from '../http/pages.ts';
import { reportMessage, reportSpace, reportUser, withdrawReport } from '../reports/reports.ts';
import { listSpaceReports } from '../reports/space-reports.ts';

const CONFIRMATION = { message: 'The operator of this server will review your report.' };
const WITHDRAWAL = { message: 'You have no open report about it.' };

export function reportsHandlers(context: Context) {
  const { engine } = context;
  return {
    listReports: async (request, reply) => {
      const { space_id } = request.query;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listSpaceReports(context, callerOf(request), space_id, pageRequest),
      );
      return reply.code(200).send(page);
    },

    reportSpace: async (request, reply) => {
      const { space_id } = request.params;
      await reportSpace(context, callerOf(request), space_id, request.body.reason);
      return reply.code(200).send(CONFIRMATION);
    },

    withdrawSpaceReport: async (request, reply) => {
      await withdrawReport(engine, callerOf(request), 'space', request.params.space_id);
      return reply.code(200).send(WITHDRAWAL);
    },

    reportMessage: async (request, reply) => {
      const { message_id } = request.params;
      await reportMessage(context, callerOf(request), message_id, request.body.reason);
      return reply.code(200).send(CONFIRMATION);
    },

    withdrawMessageReport: async (request, reply) => {
      await withdrawReport(engine, callerOf(request), 'message', request.params.message_id);
      return reply.code(200).send(WITHDRAWAL);
    },

    reportUser: async (request, reply) => {
      const { user_id } = request.params;
      await reportUser(context, callerOf(request), user_id, request.body.reason);
      return reply.code(200).send(CONFIRMATION);
    },

    withdrawUserReport: async (request, reply) => {
      await withdrawReport(engine, callerOf(request), 'user', request.params.user_id);
      return reply.code(200).send(WITHDRAWAL);
    },
  } satisfies Partial<RouteHandlers>;
}
