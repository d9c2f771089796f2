import cluster from 'node:cluster';
import { once } from 'node:events';
import { Counter, Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { aggregateMetrics } from '../../server/metrics/cluster.ts';

afterEach(() => {
  cluster.removeAllListeners('message');
  cluster.removeAllListeners('exit');
});

/** A worker that receives the messages of the supervisor as events. */
class TestWorker extends EventTarget {
  isExited = false;
  isDead = () => this.isExited;
  isConnected = () => !this.isExited;
  send = ({ text }: { text?: string }) => {
    if (text !== undefined) this.dispatchEvent(new CustomEvent('metrics', { detail: text }));
  };
}

test('Counts a worker that has exited once, even if a snapshot arrives after its exit', async () => {
  aggregateMetrics('test');
  const registry = new Registry();
  new Counter({ name: 'requests', help: 'Requests', registers: [registry] }).inc(5);
  const message = { metrics: 'snapshot', snapshot: await registry.getMetricsAsJSON() };
  const exited = new TestWorker();
  cluster.emit('message', exited, message);
  exited.isExited = true;
  cluster.emit('exit', exited);
  cluster.emit('message', exited, message);

  const other = new TestWorker();
  const metrics = once(other, 'metrics');
  cluster.emit('message', other, { metrics: 'request' });
  const [{ detail }] = await metrics;
  expect(detail).toMatch(/^requests 5$/m);
});
