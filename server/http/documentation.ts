import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { copyDocument } from '../contract.ts';
import { THEME_CSS, themePlugin } from './documentation-theme.ts';

/**
 * Serves the contract with this server's URL at `/openapi.yaml`, and an interactive reference at `/docs`.
 * @param introduction Markdown, put before the description of the service
 */
export async function serveDocumentation(
  app: FastifyInstance,
  { config }: Pick<Context, 'config'>,
  introduction = '',
): Promise<void> {
  const document = copyDocument();
  if (introduction) {
    const description = document.getIn(['info', 'description']);
    document.setIn(['info', 'description'], `${introduction}\n\n${description}`);
  }
  document.setIn(['servers'], [{ url: config.publicUrl }]);
  // On the first request, because this would delay every start.
  let text: string | undefined;

  app.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) => {
    text ??= document.toString();
    return reply.type('application/yaml').send(text);
  });
  await app.register(swagger, {
    mode: 'static',
    specification: { document: document.toJS() },
  });
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
      plugins: [themePlugin],
      // Disables the public validator, which would receive the contract.
      validatorUrl: null,
    },
    theme: { title: 'space-service', css: [{ filename: 'theme.css', content: THEME_CSS }] },
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
