import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';

/** If OTEL_EXPORTER_OTLP_ENDPOINT is set, sends a trace of each request there. Must be called before other plugins. */
export async function traceRequests(
  app: FastifyInstance,
  { traceEndpoint, instance }: Pick<Config, 'traceEndpoint' | 'instance'>,
): Promise<void> {
  if (traceEndpoint === null) return;
  // Loaded only here, so that OpenTelemetry costs nothing without it.
  const { exportSpans } = await import('./otlp-spans.ts');
  await exportSpans(app, traceEndpoint, instance);
}
