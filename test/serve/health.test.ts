import { describe, expect, onTestFinished, test } from 'vitest';
import { startAdminServer } from '../../src/serve/admin-server.ts';
import { type HealthSources, healthOf, healthRoutes } from '../../src/serve/health.ts';
import { hold } from '../support/connections.ts';

const PLACE = { host: '127.0.0.1', trustedProxies: [] };
const NOW = Date.parse('2026-03-20T06:00:00Z');
const HOUR = 3_600_000;
const WELL: HealthSources = {
  now: () => NOW,
  isLocked: () => true,
  isReceiving: () => true,
  isStandingBy: () => false,
  schedule: () => ({ nextMs: NOW + HOUR, missedMs: null, running: null }),
};
const missed =
  (sinceMs: number): HealthSources['schedule'] =>
  () => ({ nextMs: null, missedMs: sinceMs, running: null });

test.each<[string, Partial<HealthSources>, boolean]>([
  ['all is well', {}, true],
  ['the locks are not held', { isLocked: () => false }, false],
  ['the receiver does not listen', { isReceiving: () => false }, false],
  ['the receiver is switched off', { isReceiving: null }, true],
  ['the scheduler is switched off', { schedule: () => null }, true],
  ['another host starts the runs', { isStandingBy: () => true, schedule: () => null }, true],
  ['a run is late by an hour', { schedule: missed(NOW - HOUR) }, true],
  ['a run is late by more', { schedule: missed(NOW - HOUR - 1) }, false],
])('when %s', (_, sources, isReady) => {
  expect(healthOf({ ...WELL, ...sources })).toMatchObject({ live: true, ready: isReady });
});

async function serving(sources: Partial<HealthSources> = {}): Promise<string> {
  const server = await startAdminServer({ ...PLACE, port: 0 }, [healthRoutes({ ...WELL, ...sources })]);
  onTestFinished(() => server.close());
  return server.url;
}

describe('the server', () => {
  test('tells what it is asked for, and nothing else', async () => {
    const running = { pipelines: ['orders'], sinceMs: NOW - HOUR };
    const url = await serving({ schedule: () => ({ nextMs: NOW + HOUR, missedMs: null, running }) });
    const answer = await fetch(`${url}/healthz`);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await answer.json()).toEqual({
      live: true,
      ready: true,
      locked: true,
      receiving: true,
      standing_by: false,
      schedule: {
        next_due_at: '2026-03-20T07:00:00.000Z',
        missed_since: null,
        running: { pipelines: ['orders'], since: '2026-03-20T05:00:00.000Z' },
      },
    });
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200);
    const others = await Promise.all([
      fetch(`${url}/<script>`),
      fetch(`${url}/healthz`, { method: 'POST', body: 'x' }),
      fetch(url),
    ]);
    expect(await Promise.all(others.map(async (one) => [one.status, await one.text()]))).toEqual([
      [404, '{"error":"not_found"}'],
      [404, '{"error":"not_found"}'],
      [404, '{"error":"not_found"}'],
    ]);
  });

  test('answers while sixty-four connections are held open that say nothing', async () => {
    const url = await serving();
    await hold(Number(new URL(url).port), 64);
    expect((await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5000) })).status).toBe(200);
  });

  test('is alive, though not ready', async () => {
    const url = await serving({ isLocked: () => false });
    expect((await fetch(`${url}/healthz`)).status).toBe(503);
    expect((await fetch(`${url}/healthz/live`)).status).toBe(200);
  });

  test('says which setting is to be changed when the port is taken', async () => {
    const { port } = new URL(await serving());
    const second = startAdminServer({ ...PLACE, port: Number(port) }, []);
    await expect(second).rejects.toMatchObject({
      kind: 'usage',
      code: 'port_taken',
      hint: expect.stringContaining('serve.port'),
    });
  });
});
