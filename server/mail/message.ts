import type { SendMailOptions } from 'nodemailer';
import type { Config, MailSettings } from '../config.ts';
import type { LinkKind } from '../database/schema.ts';
import { type ClaimedMail, isLink } from './outbox.ts';
import type { MailTexts } from './texts.ts';

/** A mail as it is sent. */
export type MailMessage = SendMailOptions & { to: string; subject: string; text: string };

/** The views of the front end that links lead to. The contract lists them. */
const VIEWS: Readonly<Record<LinkKind, string>> = {
  'email-verification': 'verify-email',
  'email-change': 'verify-email',
  'password-reset': 'reset-password',
};

/** Returns the message for a mail, with a plain and an HTML part. It contains no text that a user has chosen. */
export function composeMail(
  { kind, language, token, address, mailId }: ClaimedMail,
  texts: MailTexts,
  { siteName, from, webUrl }: Pick<Config, 'siteName'> & Pick<MailSettings, 'from' | 'webUrl'>,
): MailMessage {
  // In the fragment, which browsers send to no server.
  const link = isLink(kind) && token !== null ? `${webUrl}/#/${VIEWS[kind]}?token=${token}` : '';
  const { subject, body } = texts.render(kind, language, { site: siteName, link });
  return composeMessage({ mailId, language, address, subject, body, link }, { siteName, from });
}

/** Returns a message with the headers that all mail has. */
export function composeMessage(
  {
    mailId,
    language,
    address,
    subject,
    body,
    link = '',
  }: {
    mailId: string;
    language: string;
    address: string;
    subject: string;
    body: string;
    link?: string;
  },
  { siteName, from }: Pick<Config, 'siteName'> & Pick<MailSettings, 'from'>,
): MailMessage {
  return {
    // The same for each attempt, so that mail programs can recognise a mail that arrives twice.
    messageId: `<${mailId}@${from.split('@').at(-1)}>`,
    from: { name: siteName, address: from },
    to: address,
    subject,
    text: `${body}\n`,
    html: toHtml(body, link, language),
    headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': language },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Returns paragraphs of HTML, in which the link can be clicked. */
function toHtml(body: string, link: string, language: string): string {
  const paragraphs = body.split(/\n{2,}/).map((paragraph) => {
    const lines = escapeHtml(paragraph).replaceAll('\n', '<br>\n');
    const target = escapeHtml(link);
    return `<p>${link === '' ? lines : lines.replaceAll(target, `<a href="${target}">${target}</a>`)}</p>`;
  });
  return `<!DOCTYPE html>\n<html lang="${escapeHtml(language)}">\n<meta charset="utf-8">\n<body dir="auto">\n${paragraphs.join('\n')}\n</body>\n</html>\n`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
