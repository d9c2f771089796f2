import type { FastifyInstance } from 'fastify';
import type { Mailbox } from '../mail/mailbox.ts';
import { escapeHtml } from '../mail/message.ts';

/** Shows the mail of a demo at `/demo-mails`, the newest first. */
export function serveMailbox(app: FastifyInstance, mailbox: Mailbox): void {
  app.get('/demo-mails', (_request, reply) => {
    const mails = mailbox.mails
      .toReversed()
      .map(
        ({ to, subject, text }) =>
          `<h2>${escapeHtml(subject)}</h2>\n<p>To ${escapeHtml(to)}</p>\n<pre>${linked(text)}</pre>`,
      );
    const content = mails.join('\n<hr>\n') || '<p>No mail has been sent yet.</p>';
    return reply
      .header('content-security-policy', "default-src 'none'; style-src 'none'")
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(
        `<!DOCTYPE html>\n<html lang="en">\n<title>Mail of the demo</title>\n<h1>Mail of the demo</h1>\n${content}\n</html>\n`,
      );
  });
}

/** Returns HTML of a text in which links can be clicked. */
function linked(text: string): string {
  return escapeHtml(text).replaceAll(/https?:\/\/\S+/g, (url) => `<a href="${url}">${url}</a>`);
}
