/** The part of Swagger UI that the plugin uses. Lists and maps are those of Immutable.js. */
interface SwaggerUi {
  React: { createElement(type: unknown, props: object | null, ...children: unknown[]): unknown };
}

interface ResponseProps {
  /** Such as `404`. */
  code: string;
  response: { get(name: 'description'): string };
  getComponent(name: string, isConnected: boolean): unknown;
}

interface Operation {
  getIn(path: string[]): string | undefined;
}

interface Operations {
  size: number;
  filter(predicate: (operation: Operation) => boolean): Operations;
}

interface Tag {
  get(name: 'operations'): Operations;
  set(name: 'operations', operations: Operations): Tag;
}

interface Tags {
  map(change: (tag: Tag, name: string) => Tag): Tags;
  filter(predicate: (tag: Tag) => boolean): Tags;
}

/**
 * A plugin of Swagger UI that shows each error response as one line, which opens to its example and headers. It also
 * extends the filter, which otherwise compares only tags and paths, to names and summaries of operations.
 *
 * It runs in the browser: its source text is part of the page's script, so it must not use anything outside itself.
 */
export function themePlugin({ React }: SwaggerUi) {
  const collapseError = (Response: unknown) => (props: ResponseProps) => {
    const { code, response, getComponent } = props;
    const original = React.createElement(Response, props);
    if (!/^[45]/.test(code)) return original;
    const body = React.createElement('table', null, React.createElement('tbody', null, original));
    const source = response.get('description');
    const text = React.createElement(getComponent('Markdown', true), { source });
    const summary = React.createElement('summary', null, text);
    return React.createElement(
      'tr',
      { className: 'response' },
      React.createElement('td', { className: 'response-col_status' }, code),
      React.createElement('td', null, React.createElement('details', null, summary, body)),
    );
  };
  const opsFilter = (tags: Tags, phrase: string) => {
    const wanted = phrase.toLowerCase();
    const fields = [['path'], ['operation', 'operationId'], ['operation', 'summary']];
    const isWanted = (operation: Operation) =>
      fields.some((path) => operation.getIn(path)?.toLowerCase().includes(wanted));
    return tags
      .map((tag, name) =>
        name.toLowerCase().includes(wanted)
          ? tag
          : tag.set('operations', tag.get('operations').filter(isWanted)),
      )
      .filter((tag) => tag.get('operations').size > 0);
  };
  return { wrapComponents: { response: collapseError }, fn: { opsFilter } };
}

/** Without this element, which the page of Swagger UI does not have, phones show the page at the width of a desktop. */
export const VIEWPORT_JS = `
const viewport = document.createElement('meta');
viewport.name = 'viewport';
viewport.content = 'width=device-width, initial-scale=1';
document.head.append(viewport);
`;

export const THEME_CSS = `
.swagger-ui .response details > summary {
  cursor: pointer;
}

.swagger-ui .response summary :is(div, p) {
  display: inline;
}

/* The row around them shows both. */
.swagger-ui .response details .response-col_status,
.swagger-ui .response details .response-col_description__inner {
  display: none;
}

/* The contract has no links. */
.swagger-ui .response-col_links {
  display: none;
}

.swagger-ui .parameters-col_name {
  padding-right: 1rem;
}

@media (max-width: 40rem) {
  .swagger-ui .wrapper {
    padding: 0 10px;
  }

  .swagger-ui .responses-table {
    table-layout: fixed;
    width: 100%;
  }

  .swagger-ui .parameters thead {
    display: none;
  }

  .swagger-ui .parameters :is(tbody, tr, td) {
    display: block;
    width: auto;
    max-width: none;
  }

  .swagger-ui .response-col_status {
    width: 4rem;
  }

  /* A long path wraps beside its method. */
  .swagger-ui .opblock-summary-path-description-wrapper {
    flex: 1 1 0;
    min-width: 0;
  }

  .swagger-ui select,
  .swagger-ui input {
    max-width: 100%;
  }
}
`;
