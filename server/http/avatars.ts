import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { DEFAULT_AVATAR_NAME, isAvatarName } from '../avatars/store.ts';
import type { Context } from '../context.ts';

/** Serves avatars at `/avatars/…`, also to pages of other sites. */
export async function serveAvatars(
  app: FastifyInstance,
  { config }: Pick<Context, 'config'>,
): Promise<void> {
  await app.register(fastifyStatic, {
    root: join(config.dataDir, 'avatars'),
    prefix: '/avatars/',
    index: false,
    redirect: false,
    cacheControl: false,
    allowedPath: (path) => isAvatarName(path.slice(1)) || path === `/${DEFAULT_AVATAR_NAME}`,
    setHeaders: (reply, path) => {
      // Helmet's default, same-origin, would keep other sites from showing avatars.
      reply.header('cross-origin-resource-policy', 'cross-origin');
      reply.header(
        'cache-control',
        // One day or one year. Only the default avatar can change without a new URL, in a new version of the service.
        path.endsWith(DEFAULT_AVATAR_NAME)
          ? 'public, max-age=86400'
          : 'public, max-age=31536000, immutable',
      );
    },
  });
}
