/** The service counts at most as many in a space. */
const MAX_UNREAD = 100;

/** A number of unread messages. */
export function Unread({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span className="badge">
      {count >= MAX_UNREAD ? `${MAX_UNREAD}+` : count}
      <span className="visually-hidden"> unread</span>
    </span>
  );
}
