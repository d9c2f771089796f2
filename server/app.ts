import { randomUUID } from 'node:crypto';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import underPressure from '@fastify/under-pressure';
import Fastify, {
  type FastifyInstance,
  type HTTPMethods,
  LogController,
  type RouteHandlerMethod,
} from 'fastify';
import openapiGlue from 'fastify-openapi-glue';
import type { RouteHandlers } from '../generated/fastify.gen.ts';
import { authenticate } from './authentication.ts';
import { BODY_LIMIT, checkBody, readBodies } from './bodies.ts';
import { answerBrokenRequests, CONNECTION_LIMITS, refuseOddHeaders } from './connections.ts';
import type { Context } from './context.ts';
import { operations, readContract } from './contract.ts';
import { serveDocumentation } from './documentation.ts';
import { makeHandlers } from './handlers/index.ts';
import { serveHealth } from './health.ts';
import { logRequests, warnOfUntrustedProxy } from './logging.ts';
import { countRequests } from './metrics.ts';
import { serveAvatars } from './pictures.ts';
import { HttpProblem, sendProblem, unavailable } from './problems.ts';
import { compileValidator, explainValidation, refuseBrokenQuery } from './validation.ts';

/** Builds the application on a context. It does not listen. */
export async function buildApp(context: Context): Promise<FastifyInstance> {
  const { config, log, engine } = context;
  const fail: Parameters<FastifyInstance['setErrorHandler']>[0] = (error, request, reply) =>
    sendProblem(explainValidation(error, request), request, reply, engine.isUnavailable);

  const app = Fastify({
    ...CONNECTION_LIMITS,
    loggerInstance: log,
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    // A tag may be long. The limit on headers bounds it.
    routerOptions: { maxParamLength: 16_384 },
    return503OnClosing: false,
    frameworkErrors: fail,
    // One line a request, below.
    logController: new LogController({ disableRequestLogging: true }),
  });
  app.decorateRequest('caller', null);
  app.setErrorHandler(fail);
  app.setNotFoundHandler(() => {
    throw new HttpProblem('not_found', 'There is nothing at this path.');
  });
  answerBrokenRequests(app);
  refuseOddHeaders(app);
  sendPlainJsonTypes(app);
  keepOutOfCaches(app);
  logRequests(app);
  warnOfUntrustedProxy(app, config);
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
      ...['Link', 'Retry-After', 'WWW-Authenticate'],
      ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
    ],
    maxAge: 86_400,
    strictPreflight: false,
  });
  await app.register(underPressure, {
    maxEventLoopDelay: 1_000,
    pressureHandler: () => {
      throw unavailable();
    },
  });
  await serveHealth(app, context);
  await serveDocumentation(app, context);
  await serveAvatars(app, context);
  await app.register(async (api) => serveContract(api, context));
  return app;
}

/** Routes every operation of the contract to its handler. */
async function serveContract(api: FastifyInstance, context: Context): Promise<void> {
  await readBodies(api);
  api.setValidatorCompiler(compileValidator);
  api.addHook('onRequest', refuseBrokenQuery);
  const handlers = makeHandlers(context);

  const contract = readContract();
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
        onRequest: [authenticate(context, operation), checkBody(operation)],
        config: { operation },
      };
    },
  });
  refuseOtherMethods(api);
}

/**
 * Answers 405 where the path is in the contract but the method is not, also where a more general path has it:
 * `DELETE /api/spaces/search` is not the deletion of a space named search.
 */
function refuseOtherMethods(api: FastifyInstance): void {
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const allowed = operations.filter((each) => each.path === path).map(({ method }) => method);
    if (allowed.includes('GET')) allowed.push('HEAD');
    const others = api.supportedMethods.filter(
      (method) => ![...allowed, 'OPTIONS'].includes(method),
    );
    api.route({
      method: others,
      url: routeOf(path),
      // Before a body is looked at.
      onRequest: async (request) => {
        throw new HttpProblem(
          'method_not_allowed',
          `${request.method} is not possible here. Possible: ${allowed.join(', ')}.`,
          { headers: { allow: allowed.join(', ') } },
        );
      },
      handler: async () => {},
    });
  }
}

/** A path of the contract as Fastify writes it. */
function routeOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
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
