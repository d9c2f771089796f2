import { randomUUID } from 'node:crypto';
import { parseEmail } from '../accounts/email.ts';
import { withConfig } from '../command-line/on-database.ts';
import { printable } from '../command-line/printable.ts';
import { OperatorError } from '../errors.ts';
import { composeMessage } from '../mail/message.ts';
import { deliverThrough } from '../mail/smtp.ts';
import { readMailTexts } from '../mail/texts.ts';

/** Sends mail with the settings of the service, without its database. */
export const sendTestMail = withConfig(async ({ mail, siteName }, { argument }, { console }) => {
  if (mail === null) throw new OperatorError('Set MAIL_URL, MAIL_FROM and WEB_URL first.');
  const { email: address } = parseEmail(argument);
  // Invalid texts of the operator would prevent the start of the server, too.
  readMailTexts(mail.templatesFolder);
  const message = composeMessage(
    {
      mailId: randomUUID(),
      language: 'en',
      address,
      subject: `Test mail of ${siteName}`,
      body: `The settings of ${siteName} work. Links lead to this front end:\n\n${mail.webUrl}`,
      link: mail.webUrl,
    },
    { siteName, ...mail },
  );
  try {
    const answer = await deliverThrough(mail.url)(message);
    console.log(`The mail server has accepted the mail: ${printable(answer)}`);
  } catch (error) {
    const reason = printable((error as Error).message);
    throw new OperatorError(`The mail was not sent. ${reason}`, { cause: error });
  }
});
