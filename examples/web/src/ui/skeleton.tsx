/** Placeholders while something is loading. They have the height of what replaces them, so that nothing moves. */
export function Skeletons({ count, height }: { count: number; height: string }) {
  return (
    <div className="list" role="status">
      <span className="visually-hidden">Loading …</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the placeholders never change.
        <div key={index} className="skeleton" style={{ height }} aria-hidden="true" />
      ))}
    </div>
  );
}
