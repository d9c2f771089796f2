import type { Posting, Space, SpaceCreation, SpaceUpdate } from 'space-service';
import { Field, textsOf } from '../ui/form.tsx';

const WRITERS = {
  participants: 'All participants',
  moderators: 'Only you and the moderators, for announcements or an archive',
};

const READERS = { public: 'Everybody', private: 'Only those with an invitation link' };

/** The fields of a space, for a new one and for changes. */
export function SpaceFields({ space }: { space?: Space }) {
  // Later versions of the service can add others, which are not public.
  const visibility = (space?.visibility ?? 'public') === 'public' ? 'public' : 'private';
  const posting =
    (space?.posting ?? 'participants') === 'participants' ? 'participants' : 'moderators';
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
        {Object.entries(READERS).map(([value, readers]) => (
          <label key={value}>
            <input
              type="radio"
              name="visibility"
              value={value}
              defaultChecked={value === visibility}
            />
            {readers}
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>Who can write in it?</legend>
        {Object.entries(WRITERS).map(([value, writers]) => (
          <label key={value}>
            <input type="radio" name="posting" value={value} defaultChecked={value === posting} />
            {writers}
          </label>
        ))}
      </fieldset>
    </>
  );
}

export function spaceOf(fields: FormData): SpaceCreation {
  const texts = textsOf(fields, 'title', 'description', 'tags', 'visibility', 'posting');
  const tags = texts.tags.split(',').filter((tag) => tag.trim() !== '');
  const visibility = texts.visibility as SpaceCreation['visibility'];
  const posting = texts.posting as Posting;
  return { ...texts, tags, visibility, posting };
}

/** Returns the changes of a space. Omits tags that nobody has changed, because one with a comma would be divided. */
export function updateOf(fields: FormData, space: Space): SpaceUpdate {
  const { tags, ...others } = spaceOf(fields);
  return textsOf(fields, 'tags').tags === tagsOf(space) ? others : { ...others, tags };
}

function tagsOf({ tags }: Space): string {
  return tags.map(({ tag_name }) => tag_name).join(', ');
}
