/** Returns the message for an account that does not exist. */
export function noSuchAccount(account: string): string {
  return `There is no account with the email address or user id ${account}.`;
}
