/** What the Delta tables of the lake cost a night, with little and with much behind it. */
import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { OpenLake } from '../../../src/lake/delta/open-lake.ts';
import { Lake } from '../../../src/lake/lake.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { makeSlices } from './history.ts';
import type { Result } from './place.ts';

const FIRST = '2022-01-01' as Day;
const DAYS = [120, 1200] as const;
/** Changed each night. */
const CHANGED = 45;
/** So many that one of them writes a checkpoint. */
const NIGHTS = 12;
const MOST_MS = 300;

export async function delta(dir: string): Promise<Result[]> {
  const costs: { readonly days: number; readonly most: number; readonly middle: number }[] = [];
  for (const days of DAYS) costs.push({ days, ...(await nightsOf(path.join(dir, 'delta', String(days)), days)) });
  const [little, much] = costs;
  const ms = (value: number) => `${Math.round(value)} ms`;
  return [
    {
      name: `the Delta tables of a night that changes ${CHANGED} days, ${much!.days} days behind it`,
      figure: `${ms(much!.middle)}, ${ms(much!.most)} where it writes a checkpoint`,
      limit: `${ms(little!.middle)} and ${ms(little!.most)}: ${little!.days} days behind it`,
      ratio: much!.middle / little!.middle,
      target: `≤ ${MOST_MS} ms`,
      met: much!.most <= MOST_MS,
      raw: { tookMs: much!.middle, mostMs: much!.most, littleMs: little!.middle },
    },
  ];
}

async function nightsOf(folder: string, days: number): Promise<{ readonly most: number; readonly middle: number }> {
  const state = await openSqliteState(path.join(folder, 'state.db'), async () => undefined);
  const lake = new Lake({ root: folder, state, pipelines });
  const open = new OpenLake({ root: path.join(folder, 'delta'), lake, clock: systemClock, pipelines, days: 7 });
  const engine = await Engine.open({ tempDir: path.join(folder, 'spill'), memoryMiB: 512 });
  const commit = async (slices: readonly LoadSlice[]) => {
    const moved = slices.map(async ({ pipeline, content, file }) => {
      const mine = `${file}.mine`;
      await copyFile(file!, mine);
      const files = { file: mine, rejectsFile: null };
      return { kind: 'replace' as const, pipeline: pipeline.name, content, files };
    });
    await lake.commit(await Promise.all(moved));
  };
  try {
    const all = Array.from({ length: days }, (_, i) => addDays(FIRST, i));
    await commit(await makeSlices(engine, path.join(folder, 'slices'), all, 50, 0));
    await open.follow(engine, () => false);
    const took: number[] = [];
    for (let night = 1; night <= NIGHTS; night++) {
      await commit(await makeSlices(engine, path.join(folder, 'slices'), all.slice(-CHANGED), 50, night));
      const started = performance.now();
      const changed = await open.follow(engine, () => false);
      took.push(performance.now() - started);
      if (changed !== 2)
        throw new Error(`${changed} tables changed: those of ${orders.name} and the receipts should have`);
    }
    const sorted = took.toSorted((a, b) => a - b);
    return { most: sorted.at(-1)!, middle: sorted[NIGHTS / 2]! };
  } finally {
    engine.close();
    await state.close();
    await rm(folder, { recursive: true, force: true });
  }
}
