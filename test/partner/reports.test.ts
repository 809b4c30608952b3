import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { parseDay } from '../../src/core/days.ts';
import type { WindowCall } from '../../src/core/source.ts';
import { reportCall } from '../../src/partner/calls/reports.ts';
import { callOf } from '../../src/partner/settings.ts';
import { asText, Scene } from './scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

describe('a report', () => {
  const range = { from: parseDay('2026-02-01'), to: parseDay('2026-02-28') };
  const reports = pipelines.filter(({ source }) => source.isByRange);
  test.each(reports)('$name is asked for by its inclusive range, as gzip', async (pipeline) => {
    const settings = scene.settings();
    const report = {
      ...callOf<WindowCall>(settings.calls, pipeline),
      startParameter: 'from',
      accept: 'application/vnd.x+json',
    };
    const calls = { ...settings.calls, [pipeline.name]: report };
    const stop = new AbortController();
    const call = reportCall(calls, pipeline, range, asText, stop.signal);
    expect(call.endpoint).toBe(`report-${pipeline.name}`);
    expect(call.budget).toBe(report.budget);
    expect(call.signal).toBe(stop.signal);

    const { value, record } = await scene.client().call(call);
    expect(value).toBe('{"items":[]}');
    const [seen] = scene.service.calls;
    expect(seen?.url).toBe(`/api${report.path}?from=2026-02-01&endDate=2026-02-28`);
    expect(seen?.headers).toMatchObject({ accept: 'application/vnd.x+json', 'accept-encoding': 'gzip' });
    expect(record).toMatchObject({ pipeline: pipeline.name, window_from: '2026-02-01', window_to: '2026-02-28' });
    expect(record.url).toBe(`${scene.service.origin}${seen?.url}`);
  });
});
