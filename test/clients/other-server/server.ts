// A server that implements some operations of the contract, as a user of the npm package would write it. It imports
// nothing of this repository's server, and stores everything in memory.
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import openapiGlue from 'fastify-openapi-glue';
import type { Problem, SearchResult, Session, Space } from 'space-service';
import type { RouteHandlers } from 'space-service/handlers';
import contract from 'space-service/openapi.json' with { type: 'json' };
// The module has only types. Node.js must find it nevertheless: unlike `import type` above, an import such as
// `import { type RouteHandlers }` loads it.
import 'space-service/handlers';

interface Account {
  user_id: string;
  username: string;
  email: string;
  password: string;
  bio: string;
}

/** By access token. */
const sessions = new Map<string, Account>();
let spaces: Space[] = [];

const serviceHandlers: Pick<
  RouteHandlers,
  | 'register'
  | 'login'
  | 'deleteAccount'
  | 'createSpace'
  | 'searchSpaces'
  | 'searchSpacesByTag'
  | 'changeBio'
> = {
  register: async (request, reply) => {
    const { username, email, password } = request.body;
    if ([...sessions.values()].some((account) => account.username === username)) {
      return reply.code(409).send(problem(409, 'username_taken', 'The username is taken.'));
    }
    const account = { user_id: randomUUID(), username, email, password, bio: '' };
    return reply.code(201).send(startSession(account));
  },
  login: async (request, reply) => {
    const { email, password } = request.body;
    const account = [...sessions.values()].find((each) => each.email === email);
    if (account?.password === password) return reply.code(200).send(startSession(account));
    reply.header('www-authenticate', 'Bearer');
    const detail = 'The email address or password is incorrect.';
    return reply.code(401).send(problem(401, 'credentials_incorrect', detail));
  },
  deleteAccount: async (request, reply) => {
    const { user_id } = callerOf(request);
    for (const [token, account] of sessions) {
      if (account.user_id === user_id) sessions.delete(token);
    }
    spaces = spaces.filter(({ creator }) => creator.user_id !== user_id);
    return reply.code(200).send({ message: 'The account has been deleted.' });
  },
  createSpace: async (request, reply) => {
    const { title, description, visibility, posting = 'participants', tags } = request.body;
    const { user_id, username } = callerOf(request);
    const now = new Date().toISOString();
    const space: Space = {
      space_id: randomUUID(),
      title,
      description,
      visibility,
      posting,
      creator: { user_id, username, profile_picture: 'https://example.org/avatar.webp' },
      participant_count: 1,
      tags: tags.map((tag_name, index) => ({ tag_id: index + 1, tag_name })),
      created_at: now,
      invitation_code: visibility === 'private' ? randomUUID() : null,
      participation: { joined_at: now, role: 'creator' },
    };
    spaces.unshift(space);
    return reply.code(201).send(space);
  },
  searchSpaces: async (request, reply) => {
    const { limit, cursor, q } = request.query;
    const words = q.toLowerCase().split(/\s+/);
    const known = words.filter((word) => publicSpaces().some(contains(word)));
    const found = publicSpaces().filter((space) => known.every((word) => contains(word)(space)));
    if (known.length < words.length) {
      reply.header('answered-query', encodeURIComponent(known.join(' ')));
    }
    return reply.code(200).send(page(reply, known.length > 0 ? found : [], limit, cursor));
  },
  searchSpacesByTag: async (request, reply) => {
    const { tag } = request.params;
    if (tag === '') return reply.code(404).send(problem(404, 'not_found', 'The tag is empty.'));
    const { limit, cursor } = request.query ?? {};
    const found = publicSpaces().filter(({ tags }) =>
      tags.some(({ tag_name }) => tag_name === tag),
    );
    return reply.code(200).send(page(reply, found, limit, cursor));
  },
  changeBio: async (request, reply) => {
    const account = callerOf(request);
    account.bio = request.body.bio;
    return reply.code(200).send({ message: `Your bio is ${account.bio}` });
  },
};
export const incomplete: Pick<RouteHandlers, 'changeBio'> = {
  // @ts-expect-error the response requires a message
  changeBio: async (_request, reply) => reply.code(200).send({}),
};
export const undeclared: Pick<RouteHandlers, 'changeBio'> = {
  // @ts-expect-error the contract does not declare this status
  changeBio: async (_request, reply) => reply.code(201).send({ message: 'Your bio is empty' }),
};

function startSession(account: Account): Session {
  const access_token = randomUUID();
  sessions.set(access_token, account);
  return { user_id: account.user_id, access_token, token_type: 'Bearer', expires_in: 86_400 };
}

function publicSpaces(): SearchResult[] {
  return spaces
    .filter(({ visibility }) => visibility === 'public')
    .map(
      ({
        created_at: _created,
        invitation_code: _code,
        participation: _own,
        posting: _,
        ...result
      }) => result,
    );
}

function contains(word: string): (space: SearchResult) => boolean {
  return ({ title, description }) => `${title} ${description}`.toLowerCase().includes(word);
}

/** Returns a page of a list, and adds the link to the next one. A cursor is the position in the list. */
function page<T>(reply: FastifyReply, items: T[], limit = 20, cursor = '0'): T[] {
  const end = Number(cursor) + limit;
  if (end < items.length) {
    const next = new URL(reply.request.url, 'http://localhost');
    next.searchParams.set('cursor', String(end));
    reply.header('link', `<${next.pathname}${next.search}>; rel="next"`);
  }
  return items.slice(Number(cursor), end);
}

function callerOf({ headers }: Pick<FastifyRequest, 'headers'>): Account {
  const account = sessions.get(headers.authorization?.replace('Bearer ', '') ?? '');
  if (!account) throw Object.assign(new Error('The access token is invalid.'), { statusCode: 401 });
  return account;
}

function problem(status: number, code: string, detail: string): Problem {
  const title = STATUS_CODES[status] ?? '';
  const request_id = randomUUID();
  return { type: 'about:blank', title, status, detail, code, request_id, errors: [] };
}

const codes: Record<number, string> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  404: 'not_found',
  413: 'body_too_large',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
};

const app = Fastify({
  ajv: { customOptions: { strict: false, removeAdditional: false } },
  bodyLimit: 32_768,
  clientErrorHandler: (_error, socket) => {
    const body = JSON.stringify(problem(431, 'headers_too_large', 'The headers are too large.'));
    const type = `Content-Type: application/problem+json\r\nConnection: close\r\nX-Request-Id: ${randomUUID()}`;
    socket.end(`HTTP/1.1 431 Request Header Fields Too Large\r\n${type}\r\n\r\n${body}`);
  },
});
app.removeContentTypeParser('text/plain');
app.setErrorHandler<Error & { statusCode?: number }>(
  ({ statusCode = 500, message }, _request, reply) => {
    if (statusCode === 401) reply.header('www-authenticate', 'Bearer');
    return reply
      .code(statusCode)
      .send(problem(statusCode, codes[statusCode] ?? 'internal', message));
  },
);
app.setNotFoundHandler((_request, reply) =>
  reply.code(404).send(problem(404, 'not_found', 'The path does not exist.')),
);
app.addHook('onSend', async (_request, reply) => {
  reply.header('x-request-id', randomUUID());
  reply.type(reply.statusCode < 400 ? 'application/json' : 'application/problem+json');
});

// Other operations get 404 like any unknown path.
type PathItem = Record<string, { operationId?: string }>;
const pathItems = contract.paths as unknown as Record<string, PathItem>;
const paths = Object.entries(pathItems).map(([path, methods]) => {
  const implemented = Object.entries(methods).filter(
    ([, { operationId }]) => operationId === undefined || operationId in serviceHandlers,
  );
  return [path, Object.fromEntries(implemented)];
});
const specification = { ...contract, paths: Object.fromEntries(paths) };
const securityHandlers = { bearer: async (request: FastifyRequest) => void callerOf(request) };
await app.register(openapiGlue, { specification, serviceHandlers, securityHandlers });
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
