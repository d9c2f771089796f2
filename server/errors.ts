/** An error that a domain function throws to reject a request. `http/problems.ts` maps its code to an HTTP status. */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly pointers: readonly Pointer[];

  /**
   * @param code     the rule that the request broke
   * @param detail   one or two sentences for people: the limit, and what is accepted
   * @param pointers the invalid parts of the request, if any
   */
  constructor(code: ErrorCode, detail: string, pointers: readonly Pointer[] = []) {
    super(detail);
    this.name = 'DomainError';
    this.code = code;
    this.pointers = pointers;
  }
}

/** A rate limit or quota per period is exceeded. */
export class RateExceededError extends DomainError {
  readonly retryAfterSeconds: number;

  /** @param limit a sentence for people: the exceeded limit, or `Too many requests.` */
  constructor(limit: string, retryAfterSeconds: number) {
    const unit = retryAfterSeconds === 1 ? 'second' : 'seconds';
    super('too_many_requests', `${limit} Try again in ${retryAfterSeconds} ${unit}.`);
    this.retryAfterSeconds = retryAfterSeconds;
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
  | 'registration_closed'
  | 'credentials_incorrect'
  | 'account_suspended'
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
  | 'removed_from_space'
  | 'participant_not_found'
  | 'creator_cannot_leave'
  | 'space_is_public'
  | 'space_cannot_become_public'
  | 'quota_exceeded'
  | 'message_not_found'
  | 'not_message_author'
  | 'own_message'
  | 'user_not_found'
  | 'session_not_found'
  | 'too_many_reports'
  | 'too_many_requests';

/** An error that the operator must fix, such as an invalid setting. Programs print its message as one line and exit. */
export class OperatorError extends Error {}

/** An OperatorError that can disappear by itself, such as a database that cannot be reached. */
export class TemporaryError extends OperatorError {}

/** Masks the user name and the password of a URL, for messages to the operator. The URL can be invalid. */
export function withoutPassword(url: string): string {
  return (
    url
      // Up to the last `@`, because a password can contain unencoded characters.
      .replace(/\/\/.*@/s, '//***@')
      .replace(/([?&]password=)[^&]*/g, '$1***')
  );
}
