/** What `/metrics` says, as numbers by name and labels. */
import { type Metrics, type MetricsOptions, openMetrics } from '../../../src/serve/metrics/metrics.ts';
import type { World } from '../../support/nights.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of Prometheus' text format, as prom-client writes it. */
export function samplesIn(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key!, text!]);
      return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
    });
}

/** Names as they are declared, with their types. */
export function typesIn(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!]));
}

export interface Scraped {
  readonly text: string;
  readonly atMs: number;
  /** The samples of that whole name. */
  of(name: string): readonly Sample[];
  /** The sum of the samples of that name, without what all of ours begin with, that have these labels; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

function readingOf(text: string, atMs: number): Scraped {
  const samples = samplesIn(text);
  return {
    text,
    atMs,
    of: (name) => samples.filter((sample) => sample.name === name),
    value: (name, labels = {}) => {
      const found = samples.filter(
        (sample) =>
          sample.name === `partner_etl_${name}` &&
          Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

export type ScrapeOptions = Partial<Omit<MetricsOptions, 'context'>>;

/**
 * Metrics that begin now, in a process of their own so to speak: each night of the world is another one. What was read lately counts
 * as old at each scrape.
 */
export async function scraping(
  world: World,
  work: (scrape: () => Promise<Scraped>, metrics: Metrics) => Promise<void>,
  options: ScrapeOptions = {},
): Promise<void> {
  await world.clock.advance(1);
  await world.within(async (context) => {
    const given = { version: '1.2.3', today: () => world.today(), schedules: null, receiver: null, ...options };
    const metrics = await openMetrics({ context, ...given });
    const scrape = async () => {
      // Patience would pass at once, and what is old would be said.
      world.clock.passUpTo(-1);
      await world.clock.advance(60_000);
      const text = await metrics.text();
      world.clock.passUpTo(100_000);
      const atMs = world.clock.now();
      await world.clock.advance(1); // what comes next is later
      return readingOf(text, atMs);
    };
    await work(scrape, metrics);
  });
}
