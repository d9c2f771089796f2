import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';

/** Serves a built web page at `/`. The page calls the API at its own origin. */
export async function serveWebPage(
  app: FastifyInstance,
  folder: string,
  { avatarBaseUrl }: Pick<Config, 'avatarBaseUrl'>,
): Promise<void> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    // Previews of uploads have blob: URLs.
    `img-src 'self' blob: ${new URL(avatarBaseUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join(';');
  await app.register(fastifyStatic, {
    root: folder,
    // One route per file, so that all other paths get the same 404 as without the page.
    wildcard: false,
    // `serveAvatars` has decorated replies.
    decorateReply: false,
    cacheControl: false,
    setHeaders: (reply, path) => {
      reply.header('content-security-policy', policy);
      // The names of all other files contain a hash of their content.
      const isEntry = path.endsWith('index.html') || path.endsWith('favicon.svg');
      const immutable = 'public, max-age=31536000, immutable';
      reply.header('cache-control', isEntry ? 'no-cache' : immutable);
    },
  });
}
