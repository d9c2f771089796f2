/**
 * What a domain function throws when it will not do what it was asked. It knows no HTTP: `problems.ts`
 * turns the code into a status and a title.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly pointers: readonly Pointer[];

  /**
   * @param code    which rule was broken
   * @param detail  one or two sentences for the person who reads the answer: the limit, and what would be accepted
   * @param pointers where in the request the fault lies, if it lies in one place
   */
  constructor(code: ErrorCode, detail: string, pointers: readonly Pointer[] = []) {
    super(detail);
    this.name = 'DomainError';
    this.code = code;
    this.pointers = pointers;
  }
}

/** A JSON pointer into the request body (`/username`), or `?name` / `{name}` for a parameter. */
export interface Pointer {
  pointer: string;
  message: string;
}

export type ErrorCode =
  | 'invalid_request'
  | 'invalid_cursor'
  | 'username_invalid'
  | 'username_taken'
  | 'username_reserved'
  | 'email_invalid'
  | 'email_taken'
  | 'bio_invalid'
  | 'password_too_common'
  | 'password_invalid'
  | 'password_names_you'
  | 'credentials_incorrect'
  | 'current_password_incorrect'
  | 'unauthenticated'
  | 'unavailable'
  | 'avatar_missing'
  | 'avatar_too_large'
  | 'avatar_type_unsupported'
  | 'avatar_undecodable'
  | 'space_not_found'
  | 'not_space_creator'
  | 'not_a_participant'
  | 'creator_cannot_leave'
  | 'message_not_found'
  | 'not_message_author'
  | 'own_message'
  | 'user_not_found';

/**
 * An error that the operator must fix, such as a wrong setting or a locked file. Programs print its message as one line
 * and exit.
 */
export class OperatorError extends Error {}
