/** The sandbox as the look-ups' service, a process of its own, which also tells what it saw. Argument: SandboxTold as JSON. */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { SandboxOptions } from '../../../src/sandbox/options.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';

export interface SandboxTold extends Pick<SandboxOptions, 'seriesLength' | 'limits' | 'gzip'> {
  /** How far its clock is ahead of the machine's. */
  readonly aheadMs: number;
  /** So many EANs are written into the file, one a line. */
  readonly eans: number;
  readonly listFile: string;
}

/** What it saw of commission calls since it was last asked. */
export interface Seen {
  readonly calls: number;
  /** Of them those that were one too many for the budget, and were answered 429. */
  readonly tooMany: number;
  /** From the first arrival to the last, milliseconds. */
  readonly spanMs: number;
  readonly cpuMs: number;
}

const told = JSON.parse(process.argv[2] ?? '{}') as SandboxTold;
let { aheadMs } = told;
let arrivals = { calls: 0, firstMs: 0, lastMs: 0 };
let cpuBefore = process.cpuUsage();

subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  if (!request.url?.startsWith('/retailer/commission')) return;
  const now = performance.now();
  const { calls, firstMs } = arrivals;
  arrivals = { calls: calls + 1, firstMs: calls === 0 ? now : firstMs, lastMs: now };
});

const { baseUrl, authUrl, clientId, clientSecret, stats, eans } = await startSandbox({
  seed: 1,
  ordersPerDay: 60,
  now: () => Date.now() + aheadMs,
  ...(told.seriesLength === undefined ? {} : { seriesLength: told.seriesLength }),
  ...(told.limits === undefined ? {} : { limits: told.limits }),
  ...(told.gzip === undefined ? {} : { gzip: told.gzip }),
});
writeFileSync(told.listFile, `${eans(told.eans).join('\n')}\n`);
process.send?.({ baseUrl, authUrl, clientId, clientSecret });

process.on('message', (asked: { aheadMs: number }) => {
  const { user, system } = process.cpuUsage(cpuBefore);
  const { calls, firstMs, lastMs } = arrivals;
  const seen: Seen = {
    calls,
    tooMany: stats.overBudget.commission ?? 0,
    spanMs: Math.round(lastMs - firstMs),
    cpuMs: Math.round((user + system) / 1000),
  };
  aheadMs = asked.aheadMs;
  arrivals = { calls: 0, firstMs: 0, lastMs: 0 };
  cpuBefore = process.cpuUsage();
  stats.reset();
  process.send?.(seen);
});
process.on('disconnect', () => process.exit(0));
