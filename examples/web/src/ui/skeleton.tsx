/** Placeholders of list items while a list is loading. They have the size of items, so that nothing moves. */
export function Skeletons({ count, className }: { count: number; className: string }) {
  return (
    <div className="list" role="status">
      <span className="visually-hidden">Loading …</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the placeholders never change.
        <div key={index} className={`skeleton ${className}`} aria-hidden="true" />
      ))}
    </div>
  );
}
