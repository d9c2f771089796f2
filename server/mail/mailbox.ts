import type { MailMessage } from './message.ts';

/** Mail of a demo or a mock server, in place of a mail server. */
export interface Mailbox {
  /** The mail that has been sent, the oldest first. At most 100. */
  mails: readonly CollectedMail[];
  deliver(message: MailMessage): Promise<void>;
}

export interface CollectedMail {
  to: string;
  subject: string;
  text: string;
  sent_at: string;
}

const MAX_MAILS = 100;

/** @param onMail called with each mail */
export function createMailbox(onMail: (mail: CollectedMail) => void = () => {}): Mailbox {
  const mails: CollectedMail[] = [];
  return {
    mails,
    async deliver({ to, subject, text }) {
      const mail = { to, subject, text, sent_at: new Date().toISOString() };
      if (mails.push(mail) > MAX_MAILS) mails.shift();
      onMail(mail);
    },
  };
}

/** Settings of a server whose mail goes to a mailbox. */
export function mailboxSettings(webUrl: string): Record<string, string> {
  return {
    MAIL_URL: 'smtp://127.0.0.1',
    MAIL_FROM: 'spaces@example.org',
    WEB_URL: webUrl,
  };
}
