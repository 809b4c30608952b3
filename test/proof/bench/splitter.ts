/** What the splitter takes on one core for a report's answer, beside `JSON.parse`, which loses digits and proves nothing. */
import { inProcess, type Result } from './place.ts';
import type { SplitTimes } from './splitter-child.ts';

export async function splitting(): Promise<Result[]> {
  const told = await inProcess<Record<string, SplitTimes>>('splitter-child.js', []);
  return Object.entries(told).map(([shape, { bytes, splitMs, parseMs }]) => {
    const speed = (ms: number) => `${Math.round(bytes / ms / 1000).toLocaleString('en-US')} MB/s`;
    return {
      name: `splitter, one core: ${shape}`,
      figure: speed(splitMs),
      limit: `${speed(parseMs)}: JSON.parse of the same bytes, decoded`,
      ratio: splitMs / parseMs,
      target: 'no slower',
      met: splitMs <= parseMs,
      raw: { bytes, splitMs, limitMs: parseMs },
    };
  });
}
