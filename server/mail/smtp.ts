import { isIP } from 'node:net';
import { createTransport } from 'nodemailer';
import { LINK_TOKEN } from './links.ts';
import type { MailMessage } from './message.ts';

/** Hands a message to a mail server, or to something in its place. Rejects if it was not accepted. */
export type Deliver = (message: MailMessage) => Promise<unknown>;

/** Maximum times to connect, until the greeting, and without a response. Together shorter than a lease. */
const TIMEOUTS_MS = { connectionTimeout: 30_000, greetingTimeout: 30_000, socketTimeout: 60_000 };

/** Explanations that replace unclear error messages of OpenSSL and nodemailer. */
const EXPLANATIONS = [
  [
    /wrong version number/,
    'The mail server does not begin with TLS at this port. Use smtp: or another port in MAIL_URL.',
  ],
  [
    /Greeting never received/,
    'The mail server sends no greeting at this port. If it begins with TLS, use smtps: in MAIL_URL.',
  ],
] as const;

/**
 * Returns a function that sends messages through an SMTP server, each over a connection of its own. It resolves to what
 * the server has answered. `smtp:` uses STARTTLS, and requires it unless the server is on this machine or the URL ends
 * with `?ignoreTLS=true`.
 */
export function deliverThrough(mailUrl: string): (message: MailMessage) => Promise<string> {
  const { protocol, hostname, searchParams } = new URL(mailUrl);
  const transport = createTransport({
    url: mailUrl,
    requireTLS:
      protocol === 'smtp:' && !isLoopback(hostname) && searchParams.get('ignoreTLS') !== 'true',
    ...TIMEOUTS_MS,
  });
  return async (message) => {
    try {
      return (await transport.sendMail(message)).response ?? '';
    } catch (error) {
      const explanation = EXPLANATIONS.find(([pattern]) => pattern.test((error as Error).message));
      if (explanation) (error as Error).message = explanation[1];
      throw error;
    }
  };
}

function isLoopback(hostname: string): boolean {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  return (
    hostname === 'localhost' ||
    address === '::1' ||
    (isIP(address) === 4 && address.startsWith('127.'))
  );
}

/** What a mail server has answered; null if it has not answered. */
export interface DeliveryFailure {
  /** Whether it will never accept this message. Otherwise, another attempt can succeed. */
  isPermanent: boolean;
  /** Whether the server has refused this message. Otherwise, it would probably not accept another one now. */
  isAnswer: boolean;
  /** Without the address of the recipient and the token of a link, which some servers quote. */
  reason: string;
}

/** The commands whose rejection is about the message or its recipient. Others are about the settings. */
const MESSAGE_COMMANDS = ['RCPT TO', 'DATA'];

/** Rejections of these commands that the operator can remedy: no or another sign-in is required, or relaying is denied. */
const OF_SETTINGS = /^5(30|34|35|38)\b|^\d{3}[ -]5\.7\.\d+\b/;

export function describeFailure(error: unknown, address: string): DeliveryFailure {
  const {
    message,
    command = '',
    responseCode = 0,
    response = '',
  } = error as Error & {
    command?: string;
    responseCode?: number;
    response?: string;
  };
  const isAnswer = responseCode > 0 && MESSAGE_COMMANDS.includes(command);
  return {
    isPermanent: isAnswer && responseCode >= 500 && !OF_SETTINGS.test(response),
    isAnswer,
    reason: message
      .replace(new RegExp(address.replace(/[^\w@-]/g, '\\$&'), 'gi'), '<address>')
      .replace(LINK_TOKEN, '<token>'),
  };
}
