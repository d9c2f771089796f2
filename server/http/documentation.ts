import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { parseDocument } from 'yaml';
import type { Context } from '../context.ts';
import { contractText } from '../contract.ts';

/** Serves the contract as it is for this server, at `/openapi.yaml`, and a page to read and try it, at `/docs`. */
export async function serveDocumentation(
  app: FastifyInstance,
  { config }: Pick<Context, 'config'>,
): Promise<void> {
  const document = parseDocument(contractText);
  document.setIn(['servers'], [{ url: config.publicUrl }]);
  const text = document.toString();

  app.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/yaml').send(text),
  );
  await app.register(swagger, {
    mode: 'static',
    specification: { document: document.toJS() },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    // Whether TLS is in front is not known here, and the page sends the contract to nobody.
    // It may call the service where clients reach it, by whichever name the page itself was opened.
    transformStaticCSP: (header) =>
      `${header.replace(' upgrade-insecure-requests;', '').replace(' validator.swagger.io', '')} ` +
      `connect-src 'self' ${new URL(config.publicUrl).origin};`,
    uiConfig: {
      layout: 'BaseLayout',
      deepLinking: true,
      persistAuthorization: true,
      docExpansion: 'list',
      validatorUrl: null,
    },
    theme: { title: 'space-service' },
  });
}
