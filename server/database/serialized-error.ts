import type { ProblemCode } from '../../generated/problem-codes.gen.ts';
import { DomainError } from '../errors.ts';

/** An error as a message between threads or processes. Structured cloning would drop its code. */
export interface SerializedError {
  name: string;
  message: string;
  code: string | undefined;
}

export function serializeError(error: unknown): SerializedError {
  const { name, message, code } = error as Error & { code?: string };
  return { name, message, code };
}

/** Restores an error. Only a `DomainError` keeps its class. */
export function deserializeError({ name, message, code }: SerializedError): Error {
  if (name === 'DomainError') return new DomainError(code as ProblemCode, message);
  return Object.assign(new Error(message), { name, code });
}
