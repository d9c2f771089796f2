import { parseBio } from '../server/accounts/bio.ts';
import { checkNewPassword } from '../server/accounts/password.ts';
import { assertNotReserved } from '../server/accounts/reserved-usernames.ts';
import { parseUsername } from '../server/accounts/username.ts';
import type { Operation } from '../server/contract.ts';
import { assertMessageText } from '../server/messages/message-text.ts';
import { assertReason } from '../server/reports/reason.ts';
import { parseDescription, parseTitle } from '../server/spaces/space-text.ts';

/** Fields of the bodies of the operations below. */
interface Texts {
  username: string;
  email: string;
  password: string;
  newPassword: string;
  bio: string;
  title: string;
  description: string;
  text: string;
  reason: string;
}

/**
 * The rules that a schema cannot express, by operation. Those for tags are missing, because they need a dictionary of
 * Chinese characters.
 */
const RULES: Readonly<Record<string, (texts: Texts) => void>> = {
  register({ username, email, password }) {
    checkUsername(username);
    checkNewPassword(password, { username, email }, '/password');
  },
  changeUsername({ username }) {
    checkUsername(username);
  },
  changeBio({ bio }) {
    parseBio(bio);
  },
  changePassword({ newPassword }) {
    // The mock does not know the account, so it accepts a password that equals its username, its email address or the
    // part before the @.
    checkNewPassword(newPassword, { username: '', email: '' }, '/newPassword');
  },
  createSpace: checkSpaceText,
  updateSpace: checkSpaceText,
  sendMessage({ text }) {
    assertMessageText(text);
  },
  reportSpace({ reason }) {
    assertReason(reason);
  },
  reportMessage({ reason }) {
    assertReason(reason);
  },
};

/** @throws DomainError if a body that matches its schema breaks a rule */
export function checkRules({ operationId }: Operation, body: unknown): void {
  RULES[operationId]?.(body as Texts);
}

function checkUsername(username: string): void {
  assertNotReserved(username);
  parseUsername(username);
}

/** In an update, both fields are optional. */
function checkSpaceText({ title, description }: Partial<Texts>): void {
  if (title !== undefined) parseTitle(title);
  if (description !== undefined) parseDescription(description);
}
