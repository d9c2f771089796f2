import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { waitUntil } from './wait-until.ts';

export interface ReceivedMail {
  to: string;
  /** The headers, one per line. */
  headers: string;
  /** The plain part and the HTML part, decoded. */
  body: string;
  /** The URL in the plain part; empty without one. */
  link: string;
  /** The token in the link; empty without one. */
  token: string;
}

/** A mail server in this process. Disposing stops it. */
export interface MailServer extends AsyncDisposable {
  /** All mail that it has accepted, in order. */
  mails: ReceivedMail[];
  /** Settings of a service that sends mail through it. */
  settings: Record<string, string>;
  /**
   * Resolves to the first mail to an address that no earlier call has returned.
   * @param view of the link in the mail; by default, of any mail
   */
  receive(address: string, view?: string): Promise<ReceivedMail>;
  /** Resolves soon after the arrival of the next mail. */
  whenNext(): Promise<void>;
  /** Resolves when no client is connected. */
  whenIdle(): Promise<void>;
}

export const WEB_URL = 'https://web.example.org/spaces';

/**
 * @param options       of the server, by default without TLS and authentication
 * @param answerDelayMs time until it acknowledges mail that it has accepted
 */
export async function startMailServer(
  options: SMTPServerOptions = {},
  answerDelayMs = 0,
): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const returned = new Set<ReceivedMail>();
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    async onData(stream, { envelope: { rcptTo } }, callback) {
      const message = await text(stream).catch(callback);
      // The client has been killed while it was sending.
      if (message === undefined) return;
      const [headers = '', body = ''] = splitAtEmptyLine(message);
      const decoded = decodeQuotedPrintable(body);
      const link = /^https?:\S+$/m.exec(decoded)?.[0] ?? '';
      const token = link.split('token=')[1] ?? '';
      for (const { address } of rcptTo)
        mails.push({ to: address, headers, body: decoded, link, token });
      setTimeout(callback, answerDelayMs);
    },
    ...options,
  });
  // A client that closes its connection early.
  server.on('error', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.server.address() as AddressInfo;
  const find = (address: string, view: string) =>
    mails.find((mail) => mail.to === address && mail.link.includes(view) && !returned.has(mail));
  return {
    mails,
    settings: {
      MAIL_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'spaces@example.org',
      WEB_URL,
    },
    async receive(address, view = '') {
      await waitUntil(`a mail to ${address} arrives`, () => find(address, view), 10_000);
      const mail = find(address, view) as ReceivedMail;
      returned.add(mail);
      return mail;
    },
    whenNext() {
      const { length } = mails;
      return waitUntil('another mail arrives', () => mails.length > length);
    },
    whenIdle: () => waitUntil('no client is connected', () => server.connections.size === 0),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function splitAtEmptyLine(message: string): string[] {
  const end = message.indexOf('\r\n\r\n');
  return [message.slice(0, end).replaceAll('\r\n', '\n'), message.slice(end + 4)];
}

/** Decodes RFC 2045, section 6.7. Lines of a message that is not encoded contain no `=XX`, except in HTML. */
function decodeQuotedPrintable(body: string): string {
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll('\r\n', '\n')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
