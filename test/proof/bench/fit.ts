/** How something grows, from measured points: time = c · size^exponent. */

export interface Point {
  /** What grows: rows, days, EANs. */
  readonly size: number;
  /** What it costs: milliseconds, MiB. */
  readonly cost: number;
}

/** The exponent by least squares on the logarithms. Sizes and costs are above 0, and there are two sizes at least. */
export function exponentOf(points: readonly Point[]): number {
  const logs = points.map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) }));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(logs.map((log) => log.x));
  const y = mean(logs.map((log) => log.y));
  const above = logs.reduce((sum, log) => sum + (log.x - x) * (log.y - y), 0);
  const below = logs.reduce((sum, log) => sum + (log.x - x) ** 2, 0);
  return above / below;
}

const BAR = 40;

/** A line for each point, with a bar as long as its share of the largest. */
export function curveOf(points: readonly Point[], size: string, cost: string): string[] {
  const largest = Math.max(...points.map((point) => point.cost));
  const n = (value: number) => Math.round(value).toLocaleString('en-US');
  const width = (of: (point: Point) => number) => Math.max(...points.map((point) => n(of(point)).length));
  const [sizeWidth, costWidth] = [width((p) => p.size), width((p) => p.cost)];
  return points.map((point) => {
    const bar = '█'.repeat(Math.max(1, Math.round((point.cost / largest) * BAR)));
    return `${n(point.size).padStart(sizeWidth)} ${size}  ${n(point.cost).padStart(costWidth)} ${cost}  ${bar}`;
  });
}
