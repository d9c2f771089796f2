import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import {
  AVATAR_NAME_PATTERN,
  cacheControlOf,
  DEFAULT_AVATAR_FILE,
  DEFAULT_AVATAR_NAME,
  isAvatarName,
  type StoredAvatar,
} from '../avatars/store.ts';
import type { Context } from '../context.ts';
import { sendBytes } from './byte-responses.ts';
import { notFound } from './problems.ts';

/** Serves avatars at `/avatars/…`, including to pages of other sites. */
export async function serveAvatars(
  app: FastifyInstance,
  { avatars: { source } }: Pick<Context, 'avatars'>,
): Promise<void> {
  if ('read' in source) {
    serveStored(app, source.read);
    // Not from the store, so that it is served even if the store is unavailable.
    await serveFiles(app, dirname(fileURLToPath(DEFAULT_AVATAR_FILE)), () => false);
  } else {
    await serveFiles(app, source.folder, isAvatarName);
  }
}

/** Serves the default avatar and the files in the folder whose names are allowed. */
async function serveFiles(
  app: FastifyInstance,
  folder: string,
  isAllowed: (name: string) => boolean,
): Promise<void> {
  await app.register(fastifyStatic, {
    root: folder,
    prefix: '/avatars/',
    index: false,
    redirect: false,
    cacheControl: false,
    allowedPath: (path) => path === `/${DEFAULT_AVATAR_NAME}` || isAllowed(path.slice(1)),
    setHeaders: (reply, path) => {
      for (const [name, value] of Object.entries(headersOf(basename(path)))) {
        reply.header(name, value);
      }
    },
  });
}

/** Serves avatars that `read` returns. Each has tens of kilobytes, which stay in memory until they are sent. */
function serveStored(
  app: FastifyInstance,
  read: (name: string) => Promise<StoredAvatar | undefined>,
): void {
  // Other names go to the route of the default avatar.
  app.get<{ Params: { name: string } }>(
    `/avatars/:name(${AVATAR_NAME_PATTERN.source})`,
    async (request, reply) => {
      const { name } = request.params;
      const avatar = await read(name);
      if (avatar === undefined) throw notFound();
      return sendBytes(request, reply, {
        bytes: avatar.bytes,
        // The content of a name never changes.
        etag: `"${name}"`,
        modifiedAt: avatar.modifiedAt,
        type: 'image/webp',
        headers: headersOf(name),
      });
    },
  );
}

function headersOf(name: string): Record<string, string> {
  return {
    'cache-control': cacheControlOf(name),
    // Helmet's default, same-origin, would keep other sites from showing avatars.
    'cross-origin-resource-policy': 'cross-origin',
  };
}
