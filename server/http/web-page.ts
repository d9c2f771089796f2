import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';

/** A space fills the window. */
const STYLE =
  'body > footer { padding: 1rem; text-align: center } #root:has(.space) ~ footer { display: none }';
const FOOTER = `<style>${STYLE}</style><footer><a href="/demo-mails">Mail of the demo</a></footer>`;

/** Serves the built web page of a demo at `/`, with a link to its mail. The page calls the API at its own origin. */
export async function serveWebPage(
  app: FastifyInstance,
  folder: string,
  { avatarBaseUrl }: Pick<Config, 'avatarBaseUrl'>,
): Promise<void> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "connect-src 'self'",
    // Previews of uploads have blob: URLs.
    `img-src 'self' blob: ${new URL(avatarBaseUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join(';');
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  app.get('/', (_request, reply) =>
    reply
      .headers({ 'content-security-policy': policy, 'cache-control': 'no-cache' })
      .type('text/html; charset=utf-8')
      .send(page.replace('</body>', `${FOOTER}\n  </body>`)),
  );
  await app.register(fastifyStatic, {
    root: folder,
    index: false,
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
