/** Publishing into a DuckLake on disk beside publishing into the file: what a night costs, with little and with much behind it. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pipelines } from '../../../pipelines/index.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { openDuckdbTarget } from '../../../src/warehouse/duckdb/target.ts';
import { openDucklakeTarget } from '../../../src/warehouse/ducklake/target.ts';
import type { LoadSlice, PublishResult, Target } from '../../../src/warehouse/target.ts';
import { makeDatabase } from '../../support/databases.ts';
import { extensionsFolder } from '../../support/extensions.ts';
import { startPostgres } from '../../support/postgres.ts';
import { makeSlices } from './history.ts';
import type { Result } from './place.ts';
import { publication } from './publication.ts';

const FIRST = '2022-01-01' as Day;
/** As much as the demo loads; as much as ten years. */
const SIZES = [
  { days: 45, rows: 700 },
  { days: 1200, rows: 8334 },
] as const;
const NIGHTS = 4;
/** Changed each night. */
const CHANGED = 3;
/** Of what the file takes on the demo. */
const RATIO = 2.5;

export async function ducklake(dir: string): Promise<Result[]> {
  const extensions = await extensionsFolder();
  if (extensions === null) return [];
  const server = await startPostgres();
  const engine = await Engine.open({ tempDir: path.join(dir, 'ducklake', 'spill'), memoryMiB: 1024 });
  try {
    const measured: Measured[] = [];
    for (const size of SIZES) {
      const folder = path.join(dir, 'ducklake', String(size.days));
      const { url: catalogUrl } = await makeDatabase(server.url, `lake_${size.days}`);
      const shared = { workDir: path.join(folder, 'work'), clock: systemClock, pipelines };
      const at = {
        catalogUrl,
        schema: 'lake',
        data: path.join(folder, 'data'),
        s3: null,
        extensions,
        snapshotDays: 30,
      };
      const file = openDuckdbTarget({ ...shared, file: path.join(folder, 'warehouse.duckdb') });
      measured.push(await nightsOf(engine, folder, size, file, openDucklakeTarget({ ...shared, at })));
      await rm(folder, { recursive: true });
    }
    return resultsOf(measured);
  } finally {
    engine.close();
    await server.stop();
  }
}

interface Measured {
  readonly rows: number;
  readonly first: Costs;
  readonly night: Costs;
}

/** Milliseconds. */
interface Costs {
  readonly file: number;
  readonly lake: number;
}

async function nightsOf(
  engine: Engine,
  folder: string,
  { days, rows }: (typeof SIZES)[number],
  file: Target,
  lake: Target,
): Promise<Measured> {
  const all = Array.from({ length: days }, (_, i) => addDays(FIRST, i));
  const history = await makeSlices(engine, path.join(folder, 'slices'), all, rows, 0);
  const both = async (slices: readonly LoadSlice[]): Promise<Costs> => {
    const took = ({ tookMs }: PublishResult) => tookMs;
    return { file: took(await file.publish(publication(slices))), lake: took(await lake.publish(publication(slices))) };
  };
  const first = await both(history);
  const nights: Costs[] = [];
  for (let night = 1; night <= NIGHTS; night++)
    nights.push(await both(await makeSlices(engine, path.join(folder, 'slices'), all.slice(-CHANGED), rows, night)));
  await Promise.all([file.close(), lake.close()]);
  const least = (of: keyof Costs) => Math.min(...nights.map((costs) => costs[of]));
  return { rows: days * rows, first, night: { file: least('file'), lake: least('lake') } };
}

function resultsOf([demo, years]: readonly Measured[]): Result[] {
  if (demo === undefined || years === undefined) throw new Error('both sizes are measured');
  const ms = (value: number) => `${Math.round(value).toLocaleString('en-US')} ms`;
  const rows = (count: number) => count.toLocaleString('en-US');
  const ratio = (name: string, { file, lake }: Costs, target: number, text: string): Result => ({
    name,
    figure: ms(lake),
    limit: `${ms(file)}: the DuckDB file`,
    ratio: lake / file,
    target: text,
    met: lake / file <= target,
    raw: { lakeMs: lake, fileMs: file },
  });
  const most = `≤ ${RATIO} times the file's`;
  return [
    ratio(`DuckLake on disk: the first publication, ${rows(demo.rows)} order items`, demo.first, RATIO, most),
    ratio(
      `DuckLake on disk: the next one, ${CHANGED} days of ${rows(demo.rows)} items changed`,
      demo.night,
      RATIO,
      most,
    ),
    ratio(`DuckLake on disk: the first publication, ${rows(years.rows)} order items`, years.first, RATIO, most),
    ratio(`DuckLake on disk: ${CHANGED} days changed behind ${rows(years.rows)} items`, years.night, 1, "≤ the file's"),
  ];
}
