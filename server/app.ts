import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
  LogController,
  type RouteHandlerMethod,
} from 'fastify';
import openapiGlue from 'fastify-openapi-glue';
import type { RouteHandlers } from '../generated/fastify.gen.ts';
import type { Context } from './context.ts';
import { copyContract, operations } from './contract.ts';
import { makeHandlers } from './handlers/index.ts';
import { authenticate } from './http/authentication.ts';
import { serveAvatars } from './http/avatars.ts';
import { BODY_LIMIT, checkBody, readBodies } from './http/bodies.ts';
import {
  boundConnections,
  closeGracefully,
  connectionOptions,
  drain,
  refuseOddHeaders,
  TIME_LIMITS,
  type TimeLimits,
} from './http/connections.ts';
import { serveDocumentation } from './http/documentation.ts';
import { serveHealth } from './http/health.ts';
import { countRequests } from './http/metrics.ts';
import { HttpProblem, notFound, sendProblem } from './http/problems.ts';
import { limitPublicReads } from './http/rate-limits.ts';
import { logRequest, logRequests, warnOfUntrustedProxy } from './http/request-log.ts';
import { compileValidator, explainValidation, refuseBrokenQuery } from './http/validation.ts';
import { overloaded } from './system/concurrency.ts';

/** Builds the application on a context. It does not listen. */
export async function buildApp(
  context: Context,
  timeLimits: TimeLimits = TIME_LIMITS,
): Promise<FastifyInstance> {
  const { config, log, engine, avatars } = context;
  const isUnavailable = (error: unknown) =>
    engine.isUnavailable(error) || avatars.isUnavailable(error);
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendProblem(explainValidation(error), request, reply, isUnavailable);

  const app = Fastify({
    ...connectionOptions(timeLimits, log),
    loggerInstance: log,
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    // A tag may be long. The limit on headers bounds it.
    routerOptions: { maxParamLength: 16_384 },
    return503OnClosing: false,
    // These requests pass no hook, so what hooks do for the others is done here.
    frameworkErrors: (error, request, reply) => {
      drain(request.raw);
      fail(error, request, reply);
      logRequest(request, reply);
    },
    // One line a request, below.
    logController: new LogController({ disableRequestLogging: true }),
  });
  app.decorateRequest('caller', null);
  app.setErrorHandler(fail);
  app.setNotFoundHandler(() => {
    throw notFound();
  });
  boundConnections(app);
  sendPlainJsonTypes(app);
  keepOutOfCaches(app);
  logRequests(app);
  warnOfUntrustedProxy(app, config);
  const refuseOtherMethods = notePaths(app);
  countRequests(app, context);

  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    // Whether this is reached by TLS is for the proxy that does it to say.
    strictTransportSecurity: false,
  });
  await app.register(cors, {
    origin: config.corsOrigins,
    methods: ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: [
      ...['Answered-Query', 'Link', 'Retry-After', 'WWW-Authenticate'],
      ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
    ],
    maxAge: 86_400,
    strictPreflight: false,
  });
  // From here on, a refusal carries the headers of the two above.
  refuseOddHeaders(app);
  refuseUnknownPaths(app);
  shedLoad(app, timeLimits);
  await serveHealth(app, context);
  closeGracefully(app, config.drainSeconds, timeLimits);
  await serveDocumentation(app, context);
  await serveAvatars(app, context);
  await app.register(async (api) => serveContract(api, context));
  refuseOtherMethods();
  return app;
}

/** Routes every operation of the contract to its handler. */
async function serveContract(api: FastifyInstance, context: Context): Promise<void> {
  await readBodies(api);
  api.setValidatorCompiler(compileValidator);
  api.addHook('onRequest', refuseBrokenQuery);
  const limitReads = await limitPublicReads(api, context.config);
  const handlers = makeHandlers(context);

  const contract = copyContract();
  for (const { path, method, bodyType } of operations) {
    // A multipart body is read as a stream by its handler: there is no object to validate.
    if (bodyType === 'multipart/form-data')
      delete contract.paths[path]?.[method.toLowerCase()]?.requestBody;
  }
  await api.register(openapiGlue, {
    specification: contract,
    operationResolver: (operationId: string) => {
      const operation = operations.find((each) => each.operationId === operationId);
      if (!operation) throw new Error(`The contract has no operation ${operationId}.`);
      return {
        method: operation.method as HTTPMethods,
        url: routeOf(operation.path),
        handler: handlers[operationId as keyof RouteHandlers] as RouteHandlerMethod,
        onRequest: [
          ...(operation.isPublicRead ? limitReads : []),
          authenticate(context, operation),
          checkBody(operation),
        ],
        config: { operation },
      };
    },
  });
}

/** A path of the contract as Fastify writes it. */
function routeOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/**
 * Turns away what the event loop comes to too late, so that it soon comes round to the rest. One late turn is no
 * overload: a machine that stood still for a moment can do all that waited meanwhile. Nor is a busy start.
 */
function shedLoad(app: FastifyInstance, { eventLoopDelay }: TimeLimits): void {
  const interval = 20;
  let lastTurn = Number.POSITIVE_INFINITY;
  let endOfLateTurn = Number.NEGATIVE_INFINITY;
  const isLate = (now: number) => now - lastTurn > interval + eventLoopDelay;
  app.addHook('onListen', async () => {
    const begun = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      if (isLate(now)) endOfLateTurn = now;
      if (now - begun > 2_000) lastTurn = now;
    }, interval).unref();
    app.server.once('close', () => clearInterval(timer));
  });
  app.addHook('onRequest', async ({ routeOptions }) => {
    const isAgain = lastTurn - endOfLateTurn < 1_000;
    if (isAgain && isLate(performance.now()) && !routeOptions.config.isAlwaysAnswered) {
      throw overloaded();
    }
  });
}

/** Answers 404 before a body is looked at. */
function refuseUnknownPaths(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw notFound();
  });
}

/**
 * Answers 405 where something is at a path but not for the method, also where a more general path has it:
 * `DELETE /api/spaces/search` is not the deletion of a space named search.
 * @returns what to call once all routes are there
 */
function notePaths(app: FastifyInstance): () => void {
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  const paths = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    // Every path has OPTIONS, for browsers.
    if (url !== '*') paths.add(url);
  });
  return () => {
    for (const url of [...paths]) {
      const isPossible = (method: string) => app.hasRoute({ method: method as HTTPMethods, url });
      const allowed = app.supportedMethods.filter(isPossible).sort().join(', ');
      app.route({
        method: app.supportedMethods.filter((each) => each !== 'OPTIONS' && !isPossible(each)),
        url,
        // Before a body is looked at.
        onRequest: async (request) => {
          const detail = `${request.method} is not possible here. Possible: ${allowed}.`;
          throw new HttpProblem('method_not_allowed', detail, { headers: { allow: allowed } });
        },
        handler: async () => {},
      });
    }
  };
}

/** JSON is UTF-8 and its types define no charset, so the answers name the types as the contract does. */
function sendPlainJsonTypes(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    const type = /^(application\/(?:problem\+)?json);/.exec(
      String(reply.getHeader('content-type')),
    )?.[1];
    if (type) reply.header('content-type', type);
  });
}

/** No cache keeps what is answered to one caller: profiles and tokens, say. */
function keepOutOfCaches(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    const { operation } = request.routeOptions.config;
    const isForAnyone = !operation || (operation.isPublicRead && request.caller === null);
    if (!isForAnyone) reply.header('cache-control', 'no-store');
  });
}
