/** An answer of Prism's. */
export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** What Prism says of a fault in a request. */
interface Violation {
  location: string[];
  severity: string;
  code: string | number;
  message: string;
}

/**
 * Makes an example, which is the same whatever was asked, an answer to this request: links lead to its own next page,
 * of which there is one; avatars are at the mock's address; and what is refused as invalid is told why.
 * @param url     path and query of the request
 * @param baseUrl where the mock answers
 */
export function answerTo(url: string, answer: Answer, baseUrl: string): Answer {
  const { link, 'sl-violations': violations, ...headers } = answer.headers;
  const next = typeof link === 'string' ? nextPage(url, link) : undefined;
  const body = answer.body.replaceAll('http://127.0.0.1:3000', baseUrl);
  return {
    status: answer.status,
    headers: { ...headers, ...(next && { link: next }) },
    body:
      answer.status === 400 && typeof violations === 'string' ? explain(body, violations) : body,
  };
}

function nextPage(url: string, example: string): string | undefined {
  const { pathname, searchParams } = new URL(url, 'http://mock');
  const cursor = /[?&]cursor=([^&>]+)/.exec(example)?.[1];
  if (searchParams.has('cursor') || cursor === undefined) return undefined;
  searchParams.set('cursor', cursor);
  return `<${pathname}?${searchParams}>; rel="next"`;
}

function explain(body: string, violations: string): string {
  const errors = (JSON.parse(violations) as Violation[])
    .filter(({ severity }) => severity === 'Error')
    .map(({ location: [, part = '', ...steps], code, message }) => {
      const missing = code === 'required' ? /'([^']*)'$/.exec(message)?.[1] : undefined;
      const path = [...steps, ...(missing === undefined ? [] : [missing])];
      return {
        pointer:
          part === 'query'
            ? `?${path}`
            : part === 'path'
              ? `{${path}}`
              : path.map((each) => `/${each}`).join(''),
        message:
          missing === undefined ? (/\bmust .*$/.exec(message)?.[0] ?? message) : 'is missing',
      };
    });
  return JSON.stringify({ ...JSON.parse(body), errors });
}
