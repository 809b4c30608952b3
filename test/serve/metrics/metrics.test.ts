import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homePaths } from '../../../src/core/home.ts';
import { newId } from '../../../src/core/ids.ts';
import type { RunRecord } from '../../../src/core/records.ts';
import type { ReportName } from '../../../src/sandbox/report-name.ts';
import { startAdminServer } from '../../../src/serve/admin-server.ts';
import { metricsRoutes } from '../../../src/serve/metrics/metrics.ts';
import { scheduleOf } from '../../../src/serve/schedule/schedule.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { beginRun, endRun, lastRuns } from '../../../src/store/tables/runs.ts';
import { writeSchedule } from '../../../src/store/tables/scheduled.ts';
import { openWorld, reports, type World } from '../../support/nights.ts';
import { withState } from '../../support/state.ts';
import { answerTo, delivery, openReceiver } from '../receiver/scene.ts';
import { scraping, typesIn } from './scene.ts';

const DAYS = 4;

/** One night is behind it. */
let world: World;
beforeAll(async () => {
  world = await openWorld({ lookbackDays: DAYS, windowDays: 2, ordersPerDay: 30 });
  await world.night();
});
afterAll(() => world.close());

/** A record as a run leaves it, or leaves it when it is killed. */
async function leaveRun(fields: Partial<RunRecord> = {}): Promise<void> {
  const { clock } = world;
  const at = new Date(clock.now()).toISOString();
  const record: RunRecord = {
    run_id: newId('r', clock),
    command: 'run',
    pipelines: ['orders'],
    started_at: at,
    ended_at: at,
    result: 'done',
    exit_code: 0,
    summary: null,
    ...fields,
  };
  await withState(world.home, async (state) => {
    const isThere = (await lastRuns(state.db, 1))[0]?.run_id === record.run_id;
    if (!isThere) await beginRun(state, record);
    if (record.ended_at !== null) await endRun(state, record, []);
  });
}

const isOurs = (name: string) => name.startsWith('partner_etl_');

const UNENDED = { ended_at: null, result: null, exit_code: null };

describe('what a run leaves behind', () => {
  test('is counted after it, by whichever process it was, once, and no counter ever goes down', () =>
    scraping(world, async (scrape) => {
      const before = await scrape();
      expect([before.value('calls_total'), before.value('runs_total', { result: 'done' })]).toEqual([undefined, 0]);
      world.passDays(1);
      world.sandbox.addFault({ endpoint: 'orders', times: 2, kind: 'status', status: 503 });
      const { run } = await world.night();
      const after = await scrape();
      const { from, to } = world.lookback();
      for (const report of reports) {
        const { name: pipeline } = report;
        const name = pipeline as ReportName;
        const items = [...world.sandbox.truth(name, from, to)].length;
        expect(after.value('calls_total', { endpoint: `report-${name}`, status: '200' })).toBe(DAYS / 2);
        expect(after.value('received_items_total', { pipeline })).toBe(items);
        expect(after.value('received_bytes_total', { pipeline })).toBeGreaterThan(0);
        expect(after.value('decoded_bytes_total', { pipeline })).toBeGreaterThan(0);
        expect(after.value('slices', { pipeline })).toBe(DAYS + 1);
        expect(after.value('last_run_exit_code', { pipeline })).toBe(0);
      }
      expect(after.value('calls_total', { endpoint: 'report-orders', status: '503' })).toBe(2);
      expect(after.value('budget_waits_total')).toBeGreaterThan(0);
      expect(after.value('budget_wait_seconds_total')).toBeGreaterThan(0);
      expect(after.value('runs_total', { result: 'done', exit_code: '0' })).toBe(1);
      expect(after.value('rows_total', { outcome: 'read' })).toBe(run.summary?.rows);
      expect(after.value('run_slices_total', { outcome: 'changed' })).toBe(run.summary?.slices_changed);
      expect(after.value('loaded_rows_total', { target: 'duckdb' })).toBe(run.summary?.published?.[0]?.rows);
      expect(after.value('publish_duration_seconds_count', { target: 'duckdb' })).toBe(1);
      expect(after.value('token_requests_total')).toBe(1);
      expect(after.value('token_requests_last_hour')).toBe(1);
      expect(after.value('token_requests_hourly_limit')).toBe(30);
      expect(after.value('token_refused')).toBe(0);
      expect(after.value('scrape_errors_total')).toBe(0);
      const again = await scrape();
      const counters = [...typesIn(after.text)].filter(([name, type]) => type === 'counter' && isOurs(name));
      for (const [name] of counters) expect([name, again.of(name)]).toEqual([name, after.of(name)]);
      expect(counters.length).toBeGreaterThan(15);
    }));

  test('before the beginning is not counted, but the last run of each pipeline is said', () =>
    scraping(world, async (scrape) => {
      const [last] = await withState(world.home, ({ db }) => lastRuns(db, 1));
      const said = await scrape();
      expect([said.value('runs_total'), said.value('calls_total')]).toEqual([0, undefined]);
      expect(said.value('token_requests_total')).toBe(0);
      for (const name of ['last_run_end_timestamp_seconds', 'last_success_timestamp_seconds'])
        expect(said.value(name, { pipeline: 'orders' })).toBe(Date.parse(last!.ended_at!) / 1000);
    }));

  test('a run at work is counted when it has ended; one without an end was killed once another has begun', async () => {
    await leaveRun(UNENDED);
    await scraping(world, async (scrape) => {
      const id = newId('r', world.clock);
      expect((await scrape()).value('runs_total')).toBe(0);
      await leaveRun({ run_id: id, ...UNENDED });
      const begun = await scrape();
      expect([begun.value('runs_total'), begun.value('runs_total', { result: 'killed' })]).toEqual([1, 1]);
      await leaveRun({ run_id: id, result: 'failed', exit_code: 1 });
      const ended = await scrape();
      expect([ended.value('runs_total'), ended.value('runs_total', { result: 'failed', exit_code: '1' })]).toEqual([
        2, 1,
      ]);
    });
  });
});

describe('how things stand', () => {
  test('freshness is what has passed since the end of the newest day, in the zone of the service', () =>
    scraping(world, async (scrape) => {
      const said = await scrape();
      // The newest day is yesterday, and is over at midnight in Amsterdam, which is 23:00 in UTC.
      const endMs = Date.parse(`${world.lookback().to}T23:00:00Z`);
      expect(said.value('freshness_seconds', { pipeline: 'orders' })).toBe((said.atMs - endMs) / 1000);
      expect(said.value('freshness_seconds', { pipeline: 'products' })).toBeUndefined();
    }));

  test('what is due is said by pipeline', async () => {
    const entry = { handled_until: '2026-03-20T00:00:00.000Z', last: null };
    await world.within(({ state }) => writeSchedule(state, { orders: entry }));
    const schedules = new Map([['orders', scheduleOf('30 5 * * *', 'Europe/Amsterdam')]]);
    await scraping(
      world,
      async (scrape) => {
        const said = await scrape();
        const dueMs = Date.parse('2026-03-20T04:30:00Z');
        expect(said.value('next_due_timestamp_seconds', { pipeline: 'orders' })).toBe(dueMs / 1000);
      },
      { schedules },
    );
  });

  test('a part that cannot be read keeps what it said, is counted, said once, and keeps nothing else back', () =>
    scraping(world, async (scrape) => {
      const before = await scrape();
      const state = await openSqliteState(homePaths(world.home).database);
      await sql`ALTER TABLE slice RENAME TO gone`.execute(state.db);
      await leaveRun();
      await scrape();
      const after = await scrape();
      expect(after.value('scrape_errors_total', { part: 'pipelines' })).toBe(2);
      expect(after.value('slices', { pipeline: 'orders' })).toBe(before.value('slices', { pipeline: 'orders' }));
      expect(after.value('runs_total')).toBe(1);
      await sql`ALTER TABLE gone RENAME TO slice`.execute(state.db);
      await state.close();
      const said = world.log.filter(({ message }) => message.startsWith('metrics: pipelines'));
      expect(said).toHaveLength(1);
    }));
});

describe('push messages', () => {
  test('are counted by what was answered, and why', async () => {
    const { receiver, port } = await openReceiver();
    await scraping(
      world,
      async (scrape) => {
        const none = await scrape();
        expect(none.value('push_messages_total', { outcome: 'deferred', reason: 'inbox_full' })).toBe(0);
        await answerTo(port, delivery());
        await answerTo(
          port,
          delivery(undefined, { headers: ['Signature: keyId=0,algorithm=RSA-SHA256,signature=AAAA'] }),
        );
        await answerTo(port, delivery('no message'));
        for (let i = 0; i < 2; i++) {
          const said = await scrape();
          expect(said.value('push_messages_total', { outcome: 'accepted' })).toBe(1);
          expect(said.value('push_messages_total', { outcome: 'refused', reason: 'not_json' })).toBe(1);
          expect(said.value('push_messages_total', { outcome: 'refused' })).toBe(2);
          expect(said.value('signature_key_fetches_total')).toBe(1);
        }
      },
      { receiver: receiver.counts },
    );
  });
});

test('the process is said under the usual names, with its version and nothing secret', () =>
  scraping(world, async (scrape) => {
    const { text, value } = await scrape();
    expect(value('build_info', { version: '1.2.3' })).toBe(1);
    const types = typesIn(text);
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect([...types.keys()]).toContain(name);
    for (const [name, type] of types) {
      if (!isOurs(name)) continue;
      expect(name.endsWith('_total')).toBe(type === 'counter');
      expect(name).not.toMatch(/_(?:ms|kib|mib|days|minutes|hours)(?:_|$)/);
    }
    expect(text).not.toContain(world.sandbox.clientSecret);
    expect(text).not.toContain(world.home);
    expect(text).not.toMatch(/https?:/);
  }));

test('/metrics answers in the format of Prometheus', () =>
  scraping(world, async (_, metrics) => {
    const admin = await startAdminServer({ host: '127.0.0.1', port: 0, trustedProxies: [] }, [metricsRoutes(metrics)]);
    const answer = await fetch(`${admin.url}/metrics`);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await answer.text()).toContain('partner_etl_build_info{version="1.2.3"} 1\n');
    await admin.close();
  }));

test('who scrapes at the same time is given the same', () =>
  scraping(world, async (_, metrics) => {
    const [one, other] = [metrics.text(), metrics.text()];
    expect(one).toBe(other);
    await one;
  }));
