import { FastifyOtelInstrumentation } from '@fastify/otel';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { FastifyInstance } from 'fastify';

/** A stopping server waits at most so long for the collector. */
const EXPORT_TIMEOUT_MS = 2_000;

/**
 * Sends a span for each request to a collector, and logs failures of that. Settings of the OpenTelemetry SDK, such as
 * OTEL_TRACES_SAMPLER, apply.
 * @param endpoint base URL of the collector
 */
export async function exportSpans(
  app: FastifyInstance,
  endpoint: string,
  instance: string,
): Promise<void> {
  const report = (message: string, ...details: unknown[]) =>
    app.log.warn({ details }, `tracing: ${message}`);
  const ignore = () => {};
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'space-service',
          'service.instance.id': instance,
        }),
      )
      // Last, so that OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have precedence.
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter, { exportTimeoutMillis: EXPORT_TIMEOUT_MS })],
  });
  // The context and the W3C headers, which continue the trace of a client or a proxy.
  provider.register();
  const instrumentation = new FastifyOtelInstrumentation({
    instrumentHooks: false,
    // The log has those of the service, and rejected requests need no stack.
    recordExceptions: false,
    requestHook(span, request) {
      span.setAttribute('request.id', request.id);
      const operation = request.routeOptions.config.operation?.operationId;
      if (operation !== undefined) span.updateName(operation);
    },
  });
  instrumentation.setTracerProvider(provider);
  await app.register(instrumentation.plugin());
  app.addHook('onClose', () => provider.shutdown());
}
