import autocannon from 'autocannon';
import type { Load, LoadResult } from './load.ts';

process.on('message', async (load: Load) => {
  const result = await send(load).catch((error: Error) => ({ error: error.message }));
  process.send?.(result);
});
process.send?.('ready');

/** Sends requests with autocannon. Counts and times the responses after the warm-up. */
async function send({
  url,
  paths,
  mayRepeat = false,
  headers = [{}],
  bodies = [],
  warmUp,
  duration,
}: Load): Promise<Omit<LoadResult, 'generatorLoad'>> {
  let connection = 0;
  const sent = new Map<autocannon.Client, number>();
  const lengths = new Map<autocannon.Client, number>();
  const latencies: number[] = [];
  let failure: string | undefined;
  let shed = 0;

  const { errors } = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(
      {
        url,
        connections: paths.length,
        // The response handler stops the run earlier, unless the server has stopped responding.
        duration: warmUp + duration + 10,
        sampleInt: 50,
        setupClient(client) {
          const list = paths[connection % paths.length] as string[];
          const own = headers[connection % headers.length];
          const body = bodies[connection];
          connection += 1;
          lengths.set(client, list.length);
          client.setRequests(list.map((path) => ({ path, ...requestOf(body, own) })));
        },
      },
      (error, result) => (error ? reject(error) : resolve(result)),
    );
    const from = performance.now() + warmUp * 1000;
    const to = from + duration * 1000;
    run.on('response', (client, status, _bytes, milliseconds) => {
      sent.set(client, (sent.get(client) ?? 0) + 1);
      const now = performance.now();
      if (status === 503) shed += 1;
      else if (status !== 200 && status !== 201) failure ??= `${url} returned ${status}.`;
      else if (now >= from && now < to) latencies.push(milliseconds);
      if (now >= to) run.stop();
    });
  });
  if (errors > 0) failure ??= `${errors} requests to ${url} failed.`;
  const hasRepeated = [...sent].some(([client, count]) => count > (lengths.get(client) ?? 0));
  if (hasRepeated && !mayRepeat) failure ??= `${url} needed more paths than were generated.`;
  if (failure) throw new Error(failure);
  return {
    shed,
    requestsPerSecond: latencies.length / duration,
    latencies: Float64Array.from(latencies).sort(),
  };
}

function requestOf(body: object | undefined, headers: Record<string, string> | undefined): object {
  if (!body) return { headers };
  return {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}
