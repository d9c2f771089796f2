import Fastify, {
  type FastifyInstance,
  type FastifyRequest,
  type HTTPMethods,
  type onRequestHookHandler,
  type RouteHandlerMethod,
} from 'fastify';
import openapiGlue from 'fastify-openapi-glue';
import type { CountedOperation } from '../generated/counted-operations.gen.ts';
import type { RouteHandlers } from '../generated/fastify.gen.ts';
import type { Context } from './context.ts';
import { contract, operations } from './contract.ts';
import { makeHandlers } from './handlers/index.ts';
import { rememberAddresses } from './http/addresses.ts';
import { rejectAmbiguousHeaders } from './http/ambiguous-headers.ts';
import { authenticate } from './http/authentication.ts';
import { serveAvatars } from './http/avatars.ts';
import { checkBody, parseBodies } from './http/bodies.ts';
import { recordResponses, rejectUnsupportedExpectations } from './http/client-errors.ts';
import { clientKeys, networkKey } from './http/client-key.ts';
import { allowOrigins } from './http/cors.ts';
import { serveMailbox } from './http/demo-mails.ts';
import { serveDocumentation } from './http/documentation.ts';
import { drainUnreadBodies } from './http/draining.ts';
import { errorHandler } from './http/error-handler.ts';
import { shutDownGracefully } from './http/graceful-shutdown.ts';
import { serveHealth } from './http/health.ts';
import { collectPaths, rejectOtherMethods } from './http/methods.ts';
import { measureRequests, serveMetrics } from './http/metrics.ts';
import { rejectMalformedPaths } from './http/percent-encoding.ts';
import { limitPipelining } from './http/pipelining.ts';
import { warnAboutUntrustedProxy } from './http/proxies.ts';
import { countInNetwork, type LimitReads, limitReads, showQuota } from './http/rate-limits.ts';
import { logRequests } from './http/request-log.ts';
import { omitJsonCharset, preventCaching, setSecurityHeaders } from './http/response-headers.ts';
import { serverOptions } from './http/server-options.ts';
import { TIME_LIMITS, type TimeLimits } from './http/time-limits.ts';
import { traceRequests } from './http/tracing.ts';
import { takeTurns } from './http/turns.ts';
import { rejectUnknownPaths } from './http/unknown-paths.ts';
import { limitUnsentResponses } from './http/unsent-responses.ts';
import { compileValidator, rejectMalformedQuery } from './http/validation.ts';
import { withVerifiedEmail } from './http/verified-email.ts';
import { serveWebPage } from './http/web-page.ts';
import type { Mailbox } from './mail/mailbox.ts';
import type { ClientKeys } from './rate-limits/read-limits.ts';

/** The additions of a demo to the application. */
export interface DemoOptions {
  /** Markdown, shown first at `/docs`. */
  introduction: string;
  /** Folder of a built web page to serve at `/`. Null for no page. */
  webPageFolder: string | null;
  /** Shown at `/demo-mails`. */
  mailbox: Mailbox;
}

/** Builds the application. It does not listen yet. */
export async function buildApp(
  context: Context,
  timeLimits: TimeLimits = TIME_LIMITS,
  demo?: DemoOptions,
): Promise<FastifyInstance> {
  const { config, log } = context;
  const app = Fastify(serverOptions(config, log, timeLimits));
  // First, because it wraps the handlers of later routes.
  await traceRequests(app, config);
  app.setErrorHandler(errorHandler(context));
  rememberAddresses(app);
  recordResponses(app);
  rejectUnsupportedExpectations(app);
  app.decorateRequest('caller', null);

  // Before the first route, because it collects the paths of the routes that are registered after it.
  const paths = collectPaths(app);

  // Hooks of one kind run in the order of their registration. Register all of them before the plugins with routes,
  // because a plugin inherits only the hooks that exist when it is registered.

  // onSend
  drainUnreadBodies(app);
  omitJsonCharset(app);
  preventCaching(app);
  limitUnsentResponses(app);

  // onRequest
  // First, because requests that the hooks below reject or delay are logged and measured, too.
  logRequests(app);
  measureRequests(app, context);
  // Pipelining next, because it counts every request of a connection.
  limitPipelining(app);
  takeTurns(app, config);
  warnAboutUntrustedProxy(app, config);
  // Before the hooks that reject requests, because browsers hide responses without CORS headers from the page.
  await setSecurityHeaders(app);
  await allowOrigins(app, config);
  rejectAmbiguousHeaders(app);
  rejectMalformedPaths(app);
  const limits = limitReads(app, config);
  rejectUnknownPaths(app, limits);

  // Before `shutDownGracefully`: the preClose hook of health makes `/readyz` fail before the drain period begins.
  await serveHealth(app, context);
  // After `drainUnreadBodies`, because that hook removes the Connection header.
  shutDownGracefully(app, config.drainSeconds, timeLimits, context.waits.endAll);

  serveMetrics(app, context);
  await app.register(async (files) => {
    addHooks(files, limits());
    await serveDocumentation(files, context, demo?.introduction);
    if (demo) serveMailbox(files, demo.mailbox);
    if (demo?.webPageFolder) await serveWebPage(files, demo.webPageFolder, config);
  });
  await app.register(async (avatars) => {
    addHooks(avatars, limits(clientKeys, 1 / AVATARS_PER_READ));
    await serveAvatars(avatars, context);
  });
  await app.register(async (api) => serveOperations(api, context, limits));

  // After the last route, because it adds the missing methods to every path.
  rejectOtherMethods(app, paths);
  return app;
}

/**
 * The reads of a signed-in user count by account, because many people can share an IP address. Those of the account's
 * programs count separately, so that a program does not use up the limit of its owner.
 */
function readerKeys(request: FastifyRequest): ClientKeys {
  const { caller } = request;
  return caller
    ? {
        client: `${caller.scopes === null ? 'account' : 'programs of'} ${caller.userId}`,
        network: networkKey(request),
      }
    : clientKeys(request);
}

/** Pages show many avatars, which are small and cached. */
const AVATARS_PER_READ = 5;

function addHooks(app: FastifyInstance, hooks: onRequestHookHandler[]): void {
  for (const hook of hooks) app.addHook('onRequest', hook);
}

/** Routes every operation of the contract to its handler. */
async function serveOperations(
  api: FastifyInstance,
  context: Context,
  limits: LimitReads,
): Promise<void> {
  await parseBodies(api);
  api.setValidatorCompiler(compileValidator);
  // Runs before the hooks of the routes below.
  api.addHook('onRequest', rejectMalformedQuery);
  const handlers = makeHandlers(context);

  await api.register(openapiGlue, {
    specification: contractForRoutes(),
    operationResolver: (operationId: string) => {
      const operation = operations.find((each) => each.operationId === operationId);
      if (!operation) throw new Error(`The contract has no operation ${operationId}.`);
      const handler = withVerifiedEmail(
        context,
        operation,
        handlers[operationId as keyof RouteHandlers] as RouteHandlerMethod,
      );
      return {
        method: operation.method as HTTPMethods,
        url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
        handler: operation.countsAs
          ? countInNetwork(context.rateLimits, operationId as CountedOperation, handler)
          : handler,
        onRequest: [
          // Before the body is read, so that a request without a valid token gets 401 even if its body is invalid.
          authenticate(context, operation),
          ...(operation.isPublicRead || operation.isOwnRead ? limits(readerKeys) : []),
          checkBody(operation),
        ],
        ...(operation.countsAs && { onSend: showQuota }),
        config: { operation },
        // Its handler adds errors that the schema does not find.
        attachValidation: operationId === 'register',
      };
    },
  });
}

/**
 * Returns the contract without the parts that the router must not validate: patterns without a message, which repeat
 * rules of domain functions that explain them, and multipart bodies, which handlers read as streams. Also without problem
 * responses: the error handler serialises them, and compiling hundreds of unused serialisers would delay the start.
 */
function contractForRoutes() {
  const document: typeof contract = JSON.parse(JSON.stringify(contract), function (key, value) {
    return key === 'pattern' && !('x-pattern-message' in this) ? undefined : value;
  });
  for (const { path, method, bodyType, responses } of operations) {
    const operation = document.paths[path]?.[method.toLowerCase()] as Record<string, unknown>;
    if (bodyType === 'multipart/form-data') delete operation.requestBody;
    operation.responses = withoutProblems(responses);
  }
  return document;
}

function withoutProblems(responses: object): object {
  return Object.fromEntries(Object.entries(responses).filter(([status]) => status.startsWith('2')));
}
