import { expectTypeOf, test } from 'vitest';
import type { OperationProblemCodes, ProblemCode } from '../../generated/problem-codes.gen.ts';
import type { Problem } from '../../generated/types.gen.ts';

// The compiler checks the types.

test('Problem.code is a known code or one of a later version', () => {
  expectTypeOf<ProblemCode>().toExtend<Problem['code']>();
  expectTypeOf<'added_later'>().toExtend<Problem['code']>();
  expectTypeOf<'usrname_taken'>().not.toExtend<ProblemCode>();
});

test('Each operation has its codes', () => {
  expectTypeOf<OperationProblemCodes['deleteAccount']>().toEqualTypeOf<
    'unauthenticated' | 'session_required' | 'headers_too_large' | 'internal' | 'unavailable'
  >();
  expectTypeOf<keyof OperationProblemCodes>().extract<'joinSpace'>().toEqualTypeOf<'joinSpace'>();
});
