import type { FastifyBaseLogger } from 'fastify';

/** `command` is one of the operator, see `operator-commands.ts`. */
type AuditEvent =
  | 'command'
  | 'signed in on a new device'
  | 'password changed'
  | 'email address changed'
  | 'access token created'
  | 'access token revoked'
  | 'account deleted';

/**
 * Writes a line of the audit log, which has the field `audit`. Also written if `LOG_LEVEL` omits other lines, unless it is
 * `silent`.
 * @param log     of the request, so that the line has its id
 * @param details ids; never an email address or a token
 */
export function audit(
  log: FastifyBaseLogger,
  event: AuditEvent,
  details: Readonly<Record<string, unknown>>,
): void {
  if (log.level === 'silent') return;
  log.child({}, { level: 'info' }).info({ audit: event, ...details }, 'audit');
}
