import { useMutation, useQuery } from '@tanstack/react-query';
import { getSpace, type Space, updateSpace } from 'space-service';
import { updateSpaceMutation } from 'space-service/tanstack-react-query';
import { codeOf } from '../errors.ts';
import { DialogButton } from '../ui/dialog.tsx';
import { Failure } from '../ui/explanation.tsx';
import { Form } from '../ui/form.tsx';
import { showNotice } from '../ui/notice.tsx';
import { SpaceFields, updateOf } from './space-fields.tsx';

export function EditSpace({ space }: { space: Space }) {
  return (
    <DialogButton label="Edit space" className="secondary small" title="Edit space">
      {(close) => <EditForm spaceId={space.space_id} onClose={close} />}
    </DialogButton>
  );
}

/** Changes the space only if nobody else has changed it since the form was filled. */
function EditForm({ spaceId, onClose }: { spaceId: string; onClose: () => void }) {
  const path = { space_id: spaceId };
  const { data, error, refetch } = useQuery({
    queryKey: ['space-with-etag', spaceId],
    queryFn: async ({ signal }) => {
      const { data: space, response } = await getSpace({ path, signal, throwOnError: true });
      return { space, etag: response.headers.get('ETag') ?? undefined };
    },
    // The form keeps what the user is typing.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnReconnect: false,
  });
  const update = useMutation({
    ...updateSpaceMutation(),
    mutationFn: async (variables) => {
      const send = async (etag: string | undefined) => {
        const headers = { 'If-Match': etag };
        return (await updateSpace({ ...variables, headers, throwOnError: true })).data;
      };
      try {
        return await send(data?.etag);
      } catch (failure) {
        if (codeOf(failure) !== 'precondition_failed' || !data) throw failure;
        // New participants also change the ETag. Saves the form anyway if nobody has changed its fields.
        const { data: space, response } = await getSpace({ path, throwOnError: true });
        if (contentOf(space) !== contentOf(data.space)) throw failure;
        return send(response.headers.get('ETag') ?? undefined);
      }
    },
    onSuccess: () => showNotice('The space has been changed.'),
  });
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <p role="status">Loading …</p>;
  const loadAgain = () => {
    update.reset();
    void refetch();
  };
  return (
    <Form
      key={data.etag}
      mutation={update}
      submit="Save space"
      variables={(fields) => ({ path, body: updateOf(fields, data.space) })}
      onClose={onClose}
      cancel="Cancel"
      buttons={
        codeOf(update.error) === 'precondition_failed' && (
          <button type="button" className="secondary" onClick={loadAgain}>
            Show the current version
          </button>
        )
      }
    >
      <SpaceFields space={data.space} />
    </Form>
  );
}

/** Returns the fields of the form as one text, to compare them. */
function contentOf({ title, description, visibility, posting, tags }: Space): string {
  return JSON.stringify([
    title,
    description,
    visibility,
    posting,
    tags.map(({ tag_name }) => tag_name),
  ]);
}
