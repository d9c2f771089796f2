import { parseBio } from '../server/accounts/bio.ts';
import { checkNewPassword } from '../server/accounts/password.ts';
import { assertNotReserved } from '../server/accounts/reserved-usernames.ts';
import { parseUsername } from '../server/accounts/username.ts';
import type { Operation } from '../server/contract.ts';

/** Fields of the bodies of the operations below. */
interface Texts {
  username: string;
  email: string;
  password: string;
  newPassword: string;
  bio: string;
}

/** The rules for accounts that a schema cannot express, by operation. */
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
};

/** @throws DomainError if a body that matches its schema breaks a rule */
export function checkRules({ operationId }: Operation, body: unknown): void {
  RULES[operationId]?.(body as Texts);
}

function checkUsername(username: string): void {
  assertNotReserved(username);
  parseUsername(username);
}
