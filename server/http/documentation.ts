import swagger, { type StaticDocumentSpec } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { contractFor, contractTextFor } from '../contract.ts';
import { THEME_CSS, themePlugin, VIEWPORT_JS } from './documentation-theme.ts';

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
  app.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/yaml').send(yaml),
  );
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json').send(json),
  );
  const specification = { document } as unknown as StaticDocumentSpec;
  await app.register(swagger, { mode: 'static', specification });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    transformStaticCSP: (policy) => adjustPolicy(policy, config.publicUrl),
    uiConfig: {
      layout: 'BaseLayout',
      deepLinking: true,
      persistAuthorization: true,
      docExpansion: 'list',
      filter: true,
      // The problem codes of each response.
      showExtensions: true,
      plugins: [themePlugin],
      // Disables the public validator, which would receive the contract.
      validatorUrl: null,
    },
    theme: {
      title: 'space-service',
      css: [{ filename: 'theme.css', content: THEME_CSS }],
      js: [{ filename: 'viewport.js', content: VIEWPORT_JS }],
    },
  });
}

/** Adjusts the Content-Security-Policy of the reference. */
function adjustPolicy(policy: string, publicUrl: string): string {
  return (
    policy
      // Without TLS on this server, browsers could not load the assets of the page.
      .replace(' upgrade-insecure-requests;', '')
      .replace(' validator.swagger.io', '')
      // Requests go to the public URL, which can differ from the address of the page.
      .concat(` connect-src 'self' ${new URL(publicUrl).origin};`)
  );
}
