import type { FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { Context } from '../context.ts';

/** Returns the language of mail that a request causes: the best one for its `Accept-Language`. */
export function mailLanguage(
  { mailer: { languages } }: Pick<Context, 'mailer'>,
  request: FastifyRequest,
): string {
  const [defaultLanguage = ''] = languages;
  return new Negotiator(request).language([...languages]) ?? defaultLanguage;
}
