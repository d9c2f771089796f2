import { OperatorError } from '../errors.ts';

/** @param account the email address or user id that no account has */
export function accountNotFound(account: string): OperatorError {
  return new OperatorError(`There is no account with the email address or user id ${account}.`);
}
