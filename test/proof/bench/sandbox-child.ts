/**
 * The sandbox as a process of its own; sends its addresses and credentials. Arguments: items a day, now (ms). A message
 * { passMs } lets so much time pass; the answer is what it was asked for until then.
 */
import { startSandbox } from '../../../src/sandbox/sandbox.ts';

export interface Asked {
  readonly calls: number;
  readonly tokenRequests: number;
}

const [ordersPerDay = '1000', now = '0'] = process.argv.slice(2);
const started = Date.now();
let passedMs = 0;
const { baseUrl, authUrl, clientId, clientSecret, stats } = await startSandbox({
  seed: 1,
  ordersPerDay: Number(ordersPerDay),
  now: () => Number(now) + passedMs + Date.now() - started,
});
process.send?.({ baseUrl, authUrl, clientId, clientSecret });
process.on('message', ({ passMs }: { passMs: number }) => {
  passedMs += passMs;
  const asked: Asked = {
    calls: Object.values(stats.calls).reduce((sum, calls) => sum + calls, 0),
    tokenRequests: stats.tokenRequests,
  };
  stats.reset();
  process.send?.(asked);
});
process.on('disconnect', () => process.exit(0));
