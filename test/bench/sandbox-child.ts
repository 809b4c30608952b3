/** The sandbox as a process of its own; sends its addresses and credentials. Arguments: items a day, now (ms). */
import { startSandbox } from '../../src/sandbox/sandbox.ts';

const [ordersPerDay = '1000', now = '0'] = process.argv.slice(2);
const started = Date.now();
let passedMs = 0;
const { baseUrl, authUrl, clientId, clientSecret } = await startSandbox({
  seed: 1,
  ordersPerDay: Number(ordersPerDay),
  now: () => Number(now) + passedMs + Date.now() - started,
});
process.send?.({ baseUrl, authUrl, clientId, clientSecret });
process.on('message', ({ passDays }: { passDays: number }) => {
  passedMs += passDays * 86_400_000;
  process.send?.('passed');
});
process.on('disconnect', () => process.exit(0));
