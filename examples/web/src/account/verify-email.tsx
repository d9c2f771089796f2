import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { verifyEmailMutation } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';

/** Uses the link at once. It works again if it is opened twice. */
export function VerifyEmail({ token }: { token: string }) {
  const { mutate, data, error } = useMutation(verifyEmailMutation());
  useEffect(() => mutate({ body: { token } }), [mutate, token]);
  return (
    <div className="narrow">
      <Heading title="Your email address" />
      {!error && <p role="status">{data?.message ?? 'Verifying …'}</p>}
      {error && (
        <>
          <Failure error={error} onRetry={() => mutate({ body: { token } })} />
          <p>
            You can send another link{' '}
            <a href={addressOf('profile', { section: 'security' })}>from your account</a>.
          </p>
        </>
      )}
      <p>
        <a href={addressOf('')}>Go to the start page.</a>
      </p>
    </div>
  );
}
