/** What a night costs: unchanged, and with one or ten years of history behind it. */
import type { Night } from './night-child.ts';
import { nightsBehind } from './night-home.ts';
import type { Result } from './place.ts';

export async function nights(dir: string): Promise<Result[]> {
  const one = await nightsBehind(dir, 45 + 365);
  const ten = await nightsBehind(dir, 45 + 3650);
  const own = (night: Night) => night.wallMs - night.copyMs;
  const quickest = (found: readonly Night[]) => found.reduce((a, b) => (own(a) < own(b) ? a : b));
  const again = { one: quickest(one.again), ten: quickest(ten.again) };
  const next = { one: quickest(one.next), ten: quickest(ten.next) };
  const growth = own(next.ten) / own(next.one);
  return [
    {
      name: 'the same night again: 45 days of three pipelines, ten years (10 million order items) behind it',
      figure: `${again.ten.wallMs} ms, the service's answers included (${again.ten.cpuMs} ms of CPU); ${again.ten.changed} slices changed`,
      limit: `with one year behind it: ${again.one.wallMs} ms`,
      ratio: again.ten.wallMs / again.one.wallMs,
      target: '< 2 s of our own time, nothing written',
      met: again.ten.wallMs < 2000 && again.ten.changed === 0,
      raw: { wallMs: again.ten.wallMs, cpuMs: again.ten.cpuMs, limitMs: again.one.wallMs },
    },
    {
      name: 'the next night, ten years of history against one',
      figure: `${own(next.ten)} ms; copying the DuckDB file ${next.ten.copyMs} ms more`,
      limit: `with one year behind it: ${own(next.one)} ms; the copy ${next.one.copyMs} ms`,
      ratio: growth,
      target: '≤ 1.2 times, the copy of the file apart',
      met: growth <= 1.2,
      raw: { ownMs: own(next.ten), copyMs: next.ten.copyMs, limitMs: own(next.one) },
    },
  ];
}
