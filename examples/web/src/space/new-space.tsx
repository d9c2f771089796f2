import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { createSpaceMutation } from 'space-service/tanstack-react-query';
import { addressOf, replaceView } from '../navigation.ts';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { SpaceFields, spaceOf } from './space-fields.tsx';

export function NewSpace() {
  // With the same key, a repeated request does not create a second space. Not
  // `crypto.randomUUID`, which browsers lack on sites without HTTPS.
  const [key] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join('-'));
  const create = useMutation({
    ...createSpaceMutation({ headers: { 'Idempotency-Key': key } }),
    onSuccess: ({ space_id }) => replaceView(addressOf('space', { id: space_id })),
  });
  return (
    <div className="narrow">
      <Heading title="New space" />
      <div className="panel">
        <Form
          mutation={create}
          submit="Create space"
          variables={(fields) => ({ body: spaceOf(fields) })}
        >
          <SpaceFields />
        </Form>
      </div>
    </div>
  );
}
