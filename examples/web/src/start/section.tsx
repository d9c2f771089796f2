import type { ReactNode } from 'react';

interface SectionProps {
  heading: string;
  /** What the link to the whole list shows, such as `new spaces`. */
  noun: string;
  /** The address of the whole list. */
  all: string;
  hint?: string;
  children: ReactNode;
}

/** The first items of a list, with a link to all. */
export function Section({ heading, noun, all, hint, children }: SectionProps) {
  return (
    <section aria-label={heading}>
      <header className="section-header">
        <h2>{heading}</h2>
        <a href={all}>
          Show all<span className="visually-hidden"> {noun}</span>
        </a>
        {hint && <p className="hint">{hint}</p>}
      </header>
      {children}
    </section>
  );
}
