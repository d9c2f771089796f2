import { setImmediate } from 'node:timers/promises';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Window } from 'happy-dom';
import { createElement } from 'react';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';

interface RenderedHook<Props, Result> {
  /** What the hook has returned last. */
  readonly current: Result;
  render(props: Props): void;
  unmount(): void;
}

const window = new Window();
const mounted: (() => void)[] = [];
let dom: typeof import('react-dom/client') & Pick<typeof import('react-dom'), 'flushSync'>;

/** The tests of a file get a document without layout. Requests are real ones. */
export function useDocument(): void {
  beforeAll(async () => {
    // React DOM reads these globals when it is imported, and later.
    vi.stubGlobal('window', window);
    vi.stubGlobal('document', window.document);
    dom = { ...(await import('react-dom/client')), ...(await import('react-dom')) };
  });
  afterEach(() => {
    for (const unmount of mounted.splice(0)) unmount();
  });
  afterAll(async () => {
    // React runs the last effects later.
    await setImmediate();
    await setImmediate();
    vi.unstubAllGlobals();
  });
}

/** Renders a component that calls a hook, until the end of the test. */
export function renderHook<Props, Result>(
  queryClient: QueryClient,
  useHook: (props: Props) => Result,
  initialProps: Props,
): RenderedHook<Props, Result> {
  const root = dom.createRoot(document.createElement('div'));
  let current: Result;
  function Component(props: { value: Props }) {
    current = useHook(props.value);
    return null;
  }
  function render(value: Props): void {
    const component = createElement(Component, { value });
    const provider = createElement(QueryClientProvider, { client: queryClient }, component);
    dom.flushSync(() => root.render(provider));
  }
  const unmount = () => dom.flushSync(() => root.unmount());
  mounted.push(unmount);
  render(initialProps);
  return {
    get current() {
      return current;
    },
    render,
    unmount,
  };
}

/** Hides or shows the tab. */
export function setHidden(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new window.Event('visibilitychange') as unknown as Event);
}
