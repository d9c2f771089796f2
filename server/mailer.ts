import type { FastifyBaseLogger } from 'fastify';
import type { Config } from './config.ts';
import type { Engine } from './database/engine.ts';
import {
  MAIL_TIMING,
  type MailOutcome,
  type MailSender,
  type MailTiming,
  startMailSender,
} from './mail/sender.ts';
import { type Deliver, deliverThrough } from './mail/smtp.ts';
import { readMailTexts } from './mail/texts.ts';
import type { OutageLog } from './system/outage-log.ts';

/** Sends mail, if the operator has configured it. */
export interface Mailer extends MailSender {
  /** The languages of mail. The default is first. */
  languages: readonly string[];
}

/** What a demo, the mock or a test replaces. */
export interface MailOverrides {
  /** In place of the mail server of the settings. */
  deliver?: Deliver;
  timing?: Partial<MailTiming>;
}

/**
 * Starts the sender of this process.
 * @throws OperatorError if a text of the operator cannot be used
 */
export function openMailer(
  { mail, siteName }: Pick<Config, 'mail' | 'siteName'>,
  engine: Engine,
  {
    log,
    countMail,
    outageLog,
    overrides: { deliver = undefined, timing } = {},
  }: {
    log: FastifyBaseLogger;
    countMail(result: 'sent' | MailOutcome): void;
    outageLog: Pick<OutageLog, 'report'>;
    overrides?: MailOverrides | undefined;
  },
): Mailer {
  if (mail === null) return { languages: [], wake() {}, async stop() {} };
  const texts = readMailTexts(mail.templatesFolder);
  const sender = startMailSender(
    {
      engine,
      texts,
      deliver: deliver ?? deliverThrough(mail.url),
      settings: { siteName, ...mail },
    },
    {
      onSent: () => countMail('sent'),
      onFailure({ reason }, outcome, { mailId, kind, attempts }) {
        countMail(outcome);
        log.warn({ mailId, kind, attempts, reason }, `mail was not accepted and is ${outcome}`);
      },
      onError(error) {
        if (engine.isUnavailable(error)) outageLog.report('database', error);
        else log.error({ err: error }, 'sending mail failed and will be retried');
      },
    },
    { ...MAIL_TIMING, ...timing },
  );
  return { ...sender, languages: texts.languages };
}
