import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { parseDay } from '../../src/core/days.ts';
import { reportOf } from '../../src/core/pipeline.ts';
import { reportCall } from '../../src/partner/reports.ts';
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
      ...settings.reports[reportOf(pipeline)],
      startParameter: 'from',
      accept: 'application/vnd.x+json',
    };
    const reports = { ...settings.reports, [reportOf(pipeline)]: report };
    const stop = new AbortController();
    const call = reportCall({ ...settings, reports }, pipeline, range, asText, stop.signal);
    expect(call.endpoint).toBe(`report-${reportOf(pipeline)}`);
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
