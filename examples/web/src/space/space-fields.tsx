import type { Space, SpaceCreation } from 'space-service';
import { Field, textOf } from '../ui/form.tsx';

/** The fields of a space, for a new one and for changes. */
export function SpaceFields({ space }: { space?: Space }) {
  const visibility = space?.visibility ?? 'public';
  return (
    <>
      <Field
        label="Title"
        name="title"
        dir="auto"
        autoComplete="off"
        defaultValue={space?.title}
        hint="What is it about?"
        limit={{ max: 120 }}
      />
      <Field
        label="Description"
        name="description"
        rows={3}
        defaultValue={space?.description}
        hint="Who is welcome, and what to talk about. The search finds these words."
        limit={{ max: 500 }}
      />
      <Field
        label="Tags"
        name="tags"
        dir="auto"
        autoComplete="off"
        defaultValue={space?.tags.map(({ tag_name }) => tag_name).join(', ')}
        hint="Separated by commas, such as “baking, sourdough”."
      />
      <fieldset>
        <legend>Who can read it?</legend>
        <label>
          <input
            type="radio"
            name="visibility"
            value="public"
            defaultChecked={visibility === 'public'}
          />
          Everybody
        </label>
        <label>
          <input
            type="radio"
            name="visibility"
            value="private"
            defaultChecked={visibility !== 'public'}
          />
          Only those with an invitation link
        </label>
      </fieldset>
    </>
  );
}

export function spaceOf(fields: FormData): SpaceCreation {
  return {
    title: textOf(fields, 'title'),
    description: textOf(fields, 'description'),
    tags: textOf(fields, 'tags')
      .split(',')
      .filter((tag) => tag.trim() !== ''),
    visibility: textOf(fields, 'visibility') as SpaceCreation['visibility'],
  };
}
