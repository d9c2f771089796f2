import type { Space, SpaceCreation, SpaceUpdate } from 'space-service';
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
        defaultValue={space && tagsOf(space)}
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

/** Returns the changes of a space. Omits tags that nobody has changed, because one with a comma would be divided. */
export function updateOf(fields: FormData, space: Space): SpaceUpdate {
  const { tags, ...others } = spaceOf(fields);
  return textOf(fields, 'tags') === tagsOf(space) ? others : { ...others, tags };
}

function tagsOf({ tags }: Space): string {
  return tags.map(({ tag_name }) => tag_name).join(', ');
}
