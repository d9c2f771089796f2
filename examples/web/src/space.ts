import { getSpace, listMessages, type Message, pages } from 'space-service';
import { client, dataOf } from './api.ts';
import { showUser, tagItem } from './cards.ts';
import { copyTemplate, find, quantity } from './dom.ts';
import { showFailure } from './errors.ts';
import type { View } from './navigation.ts';
import { fillOnScroll } from './scrolling.ts';

const view = find('#space');
const dateFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

/** One space with its messages, newest first. */
export const spaceView: View = {
  async show(parameters, signal) {
    const space_id = parameters.get('id') ?? '';
    // Removes the previous space, even if this one cannot be loaded.
    find('h1', view).textContent = 'Space';
    find('.space-header', view).hidden = true;
    find('.list', view).replaceChildren();
    find('.list-status', view).textContent = '';
    try {
      const space = await dataOf(getSpace({ client, signal, path: { space_id } }));
      find('h1', view).textContent = space.title;
      document.title = `${space.title} – Spaces`;
      find('.description', view).textContent = space.description;
      find('.tags', view).replaceChildren(...space.tags.map(({ tag_name }) => tagItem(tag_name)));
      showUser(find('.user', view), space.creator);
      find('.participants', view).textContent = quantity(space.participant_count, 'participant');
      find('.space-header', view).hidden = false;
    } catch (error) {
      if (!signal.aborted) showFailure(error);
      return;
    }
    const messages = pages(
      (cursor) => listMessages({ client, signal, query: { space_id, cursor } }),
      signal,
    );
    await fillOnScroll(view, 'message', messages, messageItem, signal);
  },
};

function messageItem({ author, text, created_at, appreciation_count }: Message): HTMLElement {
  const item = copyTemplate('message');
  showUser(find('.user', item), author);
  const time = find<HTMLTimeElement>('time', item);
  time.dateTime = created_at;
  time.textContent = dateFormat.format(new Date(created_at));
  find('.text', item).textContent = text;
  find('.appreciations', item).hidden = appreciation_count === 0;
  find('.appreciations', item).textContent = quantity(appreciation_count, 'appreciation');
  return item;
}
