import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { contractFor, contractTextFor } from '../contract.ts';
import { loadReference, NONCE } from './reference.ts';
import { referenceDocument } from './reference-document.ts';

/**
 * Styles of elements to which the script of the reference gives no nonce, as hashes. A browser prints others, which a
 * new version of the script can have.
 */
const STYLE_HASHES = [
  'sha256-l/2OpPg0d+2VLTLgwjf5mQo2CYwHDEqdj5TjbfEyVJI=',
  'sha256-T13Uev3xCax2N28XaoAE8DOzQZKvPp7ZQVAi1iRREjo=',
];

/**
 * Serves the contract with this server's URL at `/openapi.yaml` and `/openapi.json`, and an interactive reference at
 * `/docs`.
 * @param introduction Markdown, put before the description of the service
 */
export async function serveDocumentation(
  app: FastifyInstance,
  { config }: Pick<Context, 'config'>,
  introduction = '',
): Promise<void> {
  const document = contractFor(config.publicUrl, introduction);
  const yaml = contractTextFor(config.publicUrl, introduction);
  const json = JSON.stringify(document);
  const shown = JSON.stringify(referenceDocument(document));
  app.get('/openapi.yaml', async (_request, reply) => reply.type('application/yaml').send(yaml));
  app.get('/openapi.json', async (_request, reply) => reply.type('application/json').send(json));
  app.get('/docs/contract.json', async (_request, reply) =>
    reply.type('application/json').send(shown),
  );
  // The page has relative URLs, and a proxy can serve it below another path.
  app.get('/docs', async (_request, reply) => reply.redirect('docs/'));
  app.get('/docs/', async (_request, reply) => {
    const { page } = await loadReference();
    const nonce = randomBytes(16).toString('base64');
    return reply
      .header('content-security-policy', policyOf(nonce, config.publicUrl))
      .type('text/html; charset=utf-8')
      .send(page.replaceAll(NONCE, nonce));
  });
  app.get('/docs/js/scalar.js', async (_request, reply) => {
    const { script } = await loadReference();
    return (
      reply
        .type('text/javascript; charset=utf-8')
        // Every browser decodes it.
        .header('content-encoding', 'gzip')
        // The URL contains no version.
        .header('cache-control', 'public, max-age=3600')
        .send(script)
    );
  });
}

/** Requests go to the public URL, which can differ from the address of the page. */
function policyOf(nonce: string, publicUrl: string): string {
  const hashes = STYLE_HASHES.map((hash) => `'${hash}'`).join(' ');
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}' ${hashes}`,
    // For positions and heights that its components set.
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "object-src 'none'",
  ].join(';');
}
