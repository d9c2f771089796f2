import { setTimeout as sleep } from 'node:timers/promises';
import type { Config, MailSettings } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { composeMail } from './message.ts';
import { type ClaimedMail, claimMail, deleteMail, postponeMail } from './outbox.ts';
import { type Deliver, type DeliveryFailure, describeFailure } from './smtp.ts';
import type { MailTexts } from './texts.ts';

/** Sends the mail in the outbox. Each process that serves requests has a sender. */
export interface MailSender {
  /** Sends new mail soon. Other mail is sent when it is due. */
  wake(): void;
  /** Stops after the current mail. */
  stop(): Promise<void>;
}

export interface MailEvents {
  onSent(): void;
  /** @param outcome what happens to the mail */
  onFailure(failure: DeliveryFailure, outcome: MailOutcome, mail: ClaimedMail): void;
  /** Called with an error of the database. The sender tries again later. */
  onError(error: unknown): void;
}

export type MailOutcome = 'postponed' | 'deleted';

/** Maximum time that `stop` waits. A mail that is sent later is sent again after its lease. */
const STOP_TIMEOUT_MS = 5_000;

export interface MailTiming {
  wakeDelayMs: number;
  pollIntervalMs: number;
  leaseMs: number;
}

export const MAIL_TIMING: Readonly<MailTiming> = {
  // Responses to requests that cause mail are sent before, so that their time does not depend on the mail.
  wakeDelayMs: 250,
  // A sender looks for mail that is due, and for that of processes that have ended.
  pollIntervalMs: 30_000,
  // Longer than any attempt, so that two processes never send a mail at the same time.
  leaseMs: 10 * 60_000,
};

export function startMailSender(
  {
    engine,
    texts,
    deliver,
    settings,
  }: {
    engine: Engine;
    texts: MailTexts;
    deliver: Deliver;
    settings: Pick<Config, 'siteName'> & Pick<MailSettings, 'from' | 'webUrl'>;
  },
  events: MailEvents,
  { wakeDelayMs, pollIntervalMs, leaseMs }: MailTiming,
): MailSender {
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isAwake = false;

  const schedule = (delayMs: number) => {
    clearTimeout(timer);
    if (!isStopping) timer = setTimeout(run, delayMs).unref();
  };
  const run = () => {
    // A mail written during a run can be missed by its last query.
    isAwake = false;
    running ??= sendDue()
      .catch(events.onError)
      .finally(() => {
        running = undefined;
        schedule(isAwake ? wakeDelayMs : pollIntervalMs);
      });
  };

  async function sendDue(): Promise<void> {
    while (!isStopping) {
      const mail = await claimMail(engine, leaseMs);
      if (!mail) return;
      try {
        await deliver(composeMail(mail, texts, settings));
      } catch (error) {
        const failure = describeFailure(error, mail.address);
        const isPostponed = !failure.isPermanent && (await postponeMail(engine, mail));
        if (failure.isPermanent) await deleteMail(engine.db, mail.pk);
        events.onFailure(failure, isPostponed ? 'postponed' : 'deleted', mail);
        // The next attempts would fail, too, each after a timeout.
        if (!failure.isAnswer) return;
        continue;
      }
      events.onSent();
      await deleteMail(engine.db, mail.pk);
    }
  }

  schedule(wakeDelayMs);
  return {
    wake() {
      if (isAwake) return;
      isAwake = true;
      if (!running) schedule(wakeDelayMs);
    },
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await Promise.race([running, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}
