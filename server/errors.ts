import type { InvalidValueCode, ProblemCode } from '../generated/problem-codes.gen.ts';
import type { Scope } from '../generated/types.gen.ts';

/** An error that a domain function throws to reject a request. The contract maps its code to an HTTP status. */
export class DomainError extends Error {
  readonly code: ProblemCode;
  readonly pointers: readonly Pointer[];

  /**
   * @param code     the rule that the request broke
   * @param detail   one or two sentences for people: the limit, and what is accepted
   * @param pointers the invalid parts of the request, if any
   */
  constructor(code: ProblemCode, detail: string, pointers: readonly Pointer[] = []) {
    super(detail);
    this.name = 'DomainError';
    this.code = code;
    this.pointers = pointers.map((each) => ({ code, ...each }));
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

/** The access token of a program lacks a scope. */
export class ScopeMissingError extends DomainError {
  readonly scope: Scope;

  constructor(scope: Scope) {
    super(
      'insufficient_scope',
      `This request needs the scope ${scope}, which the access token lacks.`,
    );
    this.scope = scope;
  }
}

/** An invalid value in a request. */
export interface Pointer {
  /** By default, the body. */
  in?: 'query' | 'path' | 'header';
  /** A JSON pointer into the body (`/username`), or the name of the parameter or header. */
  pointer: string;
  /** By default, the code of the error. */
  code?: InvalidValueCode | ProblemCode;
  message: string;
}

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
