import { useQuery } from '@tanstack/react-query';
import {
  type ComponentProps,
  createContext,
  type KeyboardEvent,
  useContext,
  useId,
  useRef,
  useState,
} from 'react';
import type { UserSummary } from 'space-service';
import { listParticipantsOptions } from 'space-service/tanstack-react-query';
import { Avatar } from '../ui/avatar.tsx';
import { quantity } from '../words.ts';
import { typedName, usersWith } from './mentioned-names.ts';

const MAX_SUGGESTIONS = 6;

/** The space, and users who have written in it, whose names are suggested first. */
export const Mentionable = createContext<{ spaceId: string; writers: readonly UserSummary[] }>({
  spaceId: '',
  writers: [],
});

interface MentionFieldProps extends Omit<ComponentProps<'textarea'>, 'value' | 'onChange'> {
  value: string;
  onChange: (text: string) => void;
}

/** A field that completes names after `@`. Up and Down select a name, Enter inserts it, and Escape closes the list. */
export function MentionField({ value, onChange, onKeyDown, ...props }: MentionFieldProps) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState<number | null>(null);
  const [selected, setSelected] = useState(0);
  const name = caret === null ? undefined : typedName(value.slice(0, caret));
  const suggested = useSuggestions(name?.beginning);
  const isOpen = suggested.length > 0;
  const index = Math.min(selected, suggested.length - 1);

  function insert(user: UserSummary | undefined): void {
    if (!user || !name || !field.current) return;
    field.current.setRangeText(`@${user.username} `, name.start, caret ?? name.start, 'end');
    onChange(field.current.value);
    close();
  }
  function close(): void {
    setCaret(null);
    setSelected(0);
  }
  function handleKey(event: KeyboardEvent<HTMLTextAreaElement>): void {
    const handled = isOpen && !event.nativeEvent.isComposing && handle(event.key);
    if (handled) event.preventDefault();
    else onKeyDown?.(event);
  }
  /** Returns whether the key is one of the list. */
  function handle(key: string): boolean {
    if (key === 'ArrowDown') setSelected((index + 1) % suggested.length);
    else if (key === 'ArrowUp') setSelected((index + suggested.length - 1) % suggested.length);
    else if (key === 'Enter' || key === 'Tab') insert(suggested[index]);
    else if (key === 'Escape') close();
    else return false;
    return true;
  }

  return (
    <div className="mention-field">
      {isOpen && (
        <div role="listbox" id={id} className="suggestions" aria-label="Participants">
          {suggested.map((user, each) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus.
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
            <div
              key={user.user_id}
              id={`${id}-${each}`}
              role="option"
              aria-selected={each === index}
              // Keeps the focus in the field.
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => insert(user)}
            >
              <Avatar user={user} size={24} /> <bdi>{user.username}</bdi>
            </div>
          ))}
        </div>
      )}
      <textarea
        {...props}
        ref={field}
        aria-autocomplete="list"
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={isOpen ? `${id}-${index}` : undefined}
        value={value}
        onChange={({ target }) => {
          onChange(target.value);
          setCaret(target.selectionStart);
          setSelected(0);
        }}
        onSelect={({ currentTarget }) => {
          if (isOpen) setCaret(currentTarget.selectionStart);
        }}
        onKeyDown={handleKey}
        onBlur={close}
      />
      <p className="visually-hidden" role="status">
        {isOpen && `${quantity(suggested.length, 'name')}. Up and Down select, Enter inserts.`}
      </p>
    </div>
  );
}

/** Returns users whose names begin like this: those who have written in the space first. */
function useSuggestions(beginning: string | undefined): UserSummary[] {
  const { spaceId, writers } = useContext(Mentionable);
  const { data } = useQuery({
    ...listParticipantsOptions({ query: { space_id: spaceId, limit: 100 } }),
    enabled: beginning !== undefined && spaceId !== '',
  });
  if (beginning === undefined) return [];
  const others = data?.items.map(({ user }) => user) ?? [];
  return usersWith(beginning, [...writers, ...others], MAX_SUGGESTIONS);
}
