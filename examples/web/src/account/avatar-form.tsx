import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { fetchWithProgress } from 'space-service';
import {
  changeProfilePictureMutation,
  removeProfilePictureMutation,
} from 'space-service/tanstack-react-query';
import { FormFailure } from '../ui/explanation.tsx';
import { Field, Form } from '../ui/form.tsx';
import { showNotice } from '../ui/notice.tsx';

/** The contract's limit. A larger file is not uploaded. */
const MAX_BYTES = 5 * 1024 * 1024;

export function AvatarForm() {
  const [file, setFile] = useState<File>();
  const [part, setPart] = useState(0);
  const change = useMutation({
    ...changeProfilePictureMutation({ fetch: fetchWithProgress(setPart) }),
    onSuccess: () => {
      setFile(undefined);
      showNotice('Your avatar has been changed.');
    },
  });
  const remove = useMutation({
    ...removeProfilePictureMutation(),
    onSuccess: () => showNotice('Your avatar has been removed.'),
  });
  const isTooLarge = file && file.size > MAX_BYTES;
  return (
    <Form
      mutation={change}
      submit="Save avatar"
      appearance="secondary"
      resets
      canSubmit={!!file && !isTooLarge}
      variables={(fields) => ({ body: { avatar: fields.get('avatar') as File } })}
      buttons={
        <button type="button" className="secondary" onClick={() => remove.mutate({})}>
          Remove avatar
        </button>
      }
    >
      <Field
        label="Avatar"
        name="avatar"
        type="file"
        accept="image/jpeg,image/png,image/webp,image/gif"
        hint="JPEG, PNG, WebP or GIF, at most 5 MiB. The middle square is used."
        problem={isTooLarge ? 'The file is larger than 5 MiB.' : undefined}
        onChange={(event) => {
          change.reset();
          setPart(0);
          setFile(event.target.files?.[0]);
        }}
      />
      {file && <Preview file={file} />}
      {change.isPending && <progress aria-label="Upload" value={part} />}
      <FormFailure error={remove.error} />
    </Form>
  );
}

/** Shows nothing if the file is not an image. The service explains this when it is sent. */
function Preview({ file }: { file: File }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const created = URL.createObjectURL(file);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [file]);
  if (!url) return null;
  return (
    <img
      className="avatar"
      src={url}
      alt="Preview of your new avatar"
      width="128"
      height="128"
      onError={() => setUrl(undefined)}
    />
  );
}
