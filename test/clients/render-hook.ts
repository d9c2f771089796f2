import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Window } from 'happy-dom';
import { createElement } from 'react';

// React DOM reads these globals when it is imported.
const window = new Window();
Object.assign(globalThis, { document: window.document, window });
const { createRoot } = await import('react-dom/client');
const { flushSync } = await import('react-dom');

interface RenderedHook<Props, Result> {
  /** What the hook has returned last. */
  readonly current: Result;
  render(props: Props): void;
  unmount(): void;
}

/** Renders a component that calls a hook, in a document without layout. Requests are real ones. */
export function renderHook<Props, Result>(
  queryClient: QueryClient,
  useHook: (props: Props) => Result,
  initialProps: Props,
): RenderedHook<Props, Result> {
  const root = createRoot(document.createElement('div'));
  let current: Result;
  function Component(props: { value: Props }) {
    current = useHook(props.value);
    return null;
  }
  function render(value: Props): void {
    const component = createElement(Component, { value });
    flushSync(() =>
      root.render(createElement(QueryClientProvider, { client: queryClient }, component)),
    );
  }
  render(initialProps);
  return {
    get current() {
      return current;
    },
    render,
    unmount: () => root.unmount(),
  };
}

/** Hides or shows the tab. */
export function setHidden(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new window.Event('visibilitychange') as unknown as Event);
}
