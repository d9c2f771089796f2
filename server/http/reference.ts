import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import Fastify from 'fastify';

/** The page and the script of the reference. */
interface Reference {
  /** HTML, with `NONCE` in place of the nonce of a response. */
  page: string;
  /** Compressed with gzip. */
  script: Buffer;
}

export const NONCE = 'nonce-of-this-response';

let loading: Promise<Reference> | undefined;

/** Returns the reference. It is loaded when it is first needed, because its module has 5 MB. */
export function loadReference(): Promise<Reference> {
  loading ??= load();
  return loading;
}

/** The package has the script only as a route, and its pages depend on the Host header. So they are rendered once. */
async function load(): Promise<Reference> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  await using app = Fastify();
  await app.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      pageTitle: 'space-service',
      url: './contract.json',
      nonce: NONCE,
      favicon: 'data:,',
      // Everything comes from this server.
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
      documentDownloadType: 'none',
      persistAuth: true,
      defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
      featuredClients: ['shell/curl', 'js/fetch', 'python/requests', 'go/native'],
    },
  });
  const page = await app.inject('/docs/');
  const script = await app.inject('/docs/js/scalar.js');
  return { page: page.body, script: await promisify(gzip)(script.rawPayload) };
}
