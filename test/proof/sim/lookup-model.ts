/** What the look-ups must have found: the reductions file, and the commissions of a few EANs. All or nothing, like a day of a report. */
import { Model, plain } from './model.ts';
import type { Place } from './place.ts';
import type { Reader } from './warehouse-reader.ts';

const NEVER = { minRows: Number.POSITIVE_INFINITY, keepRatio: 0 };

export class LookupModel {
  private readonly place: Place;
  private readonly model = new Model(NEVER);

  constructor(place: Place) {
    this.place = place;
  }

  async night(wentWell: boolean): Promise<void> {
    const truth = new Map([
      ['reductions', this.reductions()],
      ...this.place.eans.map(
        (ean, i) => [`commission ${ean}`, this.commission(ean, i % 2 === 0 ? '19.99' : null)] as const,
      ),
    ]);
    this.model.run({ truth, asked: () => true, wentWell });
  }

  /** From now on only what is told now is right. */
  settle(): void {
    for (const [name, states] of this.model.days) this.model.days.set(name, states.slice(-1));
  }

  private reductions(): string[] {
    const [, ...lines] = this.place.sandbox.reductionsFile().text.trim().split('\n');
    return lines.map((line) => line.split(',').map(plain).join(' ')).sort();
  }

  private commission(ean: string, price: string | null): string[] {
    const truth = this.place.sandbox.truthOfCommission(ean, 'NEW', price);
    const { fixedAmount, percentage, totalCost, totalCostWithoutReduction, reductions } = truth!;
    const boundaries = (reductions ?? []).map((r) =>
      [r.maximumPrice, r.costReduction, r.startDate, r.endDate].map(plain).join(' '),
    );
    return [
      [ean, fixedAmount, percentage, totalCost, totalCostWithoutReduction].map(plain).join(' '),
      ...boundaries.sort(),
    ];
  }

  async flaws(reader: Reader): Promise<string[]> {
    const text = (...columns: string[]) =>
      columns.map((column) => `CAST(${column} AS VARCHAR) AS ${column}`).join(', ');
    const lines = await reader.ask(
      `SELECT ${text('ean', 'maximum_price', 'cost_reduction', 'start_date', 'end_date')} FROM warehouse.fact_reduction`,
    );
    const rates = await reader.ask(
      `SELECT ${text('ean', 'fixed_amount', 'percentage', 'total_cost', 'total_cost_without_reduction')} FROM warehouse.fact_commission_rate`,
    );
    const parts = await reader.ask(
      `SELECT ${text('maximum_price', 'cost_reduction', 'start_date', 'end_date')}, ean AS _ean FROM warehouse.fact_commission_reduction`,
    );
    const row = (values: Readonly<Record<string, string | null>>) =>
      Object.entries(values)
        .filter(([name]) => name !== '_ean')
        .map(([, value]) => plain(value))
        .join(' ');
    const held = new Map([['reductions', lines.map(row).sort()]]);
    for (const ean of this.place.eans)
      held.set(`commission ${ean}`, [
        ...rates.filter((rate) => rate.ean === ean).map(row),
        ...parts
          .filter((part) => part._ean === ean)
          .map(row)
          .sort(),
      ]);
    return [...this.model.days].flatMap(([name, states]) => {
      const there = JSON.stringify(held.get(name) ?? []);
      if (states.some((state) => JSON.stringify(state ?? []) === there)) return [];
      const told = JSON.stringify(states.at(-1));
      return [
        `${name}: ${there.slice(0, 300)} (${held.get(name)?.length} rows), where one of ${states.length} states is ${told?.slice(0, 300)}`,
      ];
    });
  }
}
