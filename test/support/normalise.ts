/** Takes the text of an answer the whole way from bytes to Parquet, and reads back what came of it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Day, DayRange } from '../../src/core/days.ts';
import type { Pipeline } from '../../src/core/pipeline.ts';
import type { RejectRecord } from '../../src/core/records.ts';
import { Engine, quoteList, quoteName } from '../../src/engine/duckdb.ts';
import { splitAnswer } from '../../src/extract/answer.ts';
import { type Normalised, normalise } from '../../src/normalise/normalise.ts';

export interface Outcome extends Normalised {
  /** Rows of all slices as text by column, in the files' order. */
  readonly loaded: readonly Readonly<Record<string, string | null>>[];
  readonly rejected: readonly RejectRecord[];
}

/** `look` is called while the files that were made are still there. */
export async function normaliseText(
  pipeline: Pipeline,
  answer: string | Uint8Array,
  range: DayRange,
  isKnown: (day: Day, digest: string) => boolean = () => false,
  look: (normalised: Normalised) => Promise<void> = async () => undefined,
): Promise<Outcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-normalise-'));
  const engine = await Engine.open({ tempDir: path.join(folder, 'spill') });
  const bytes = typeof answer === 'string' ? Buffer.from(answer) : answer;
  async function* body() {
    for (let i = 0; i < bytes.length; i += 1000) yield bytes.subarray(i, i + 1000);
  }
  try {
    const { split, linesFile, splitRejectsFile } = await splitAnswer(body(), pipeline, folder);
    const normalised = await normalise(engine, {
      pipeline,
      range,
      linesFile,
      lines: split.lines,
      longestLineBytes: split.longestLineBytes,
      hasExponents: split.hasExponents,
      splitRejectsFile,
      splitRejects: split.rejects,
      fetchId: 'f-test',
      fetchedAt: '2026-01-01T00:00:00.000Z',
      rawAnswer: body,
      timeZone: 'Europe/Amsterdam',
      outDir: path.join(folder, 'out'),
      isKnown,
    });
    await look(normalised);
    const drift = [
      ...split.drift.map((d) => ({ pipeline: pipeline.name, fetch_id: 'f-test', ...d })),
      ...normalised.drift,
    ];
    return { ...normalised, drift, ...(await readBack(engine, pipeline, normalised)) };
  } finally {
    engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function readBack(
  engine: Engine,
  pipeline: Pipeline,
  { slices }: Normalised,
): Promise<Pick<Outcome, 'loaded' | 'rejected'>> {
  const columns = [...pipeline.columns, ...pipeline.derived].map((c) => quoteName(c.column));
  const texts = [...columns, 'extra', 'fetch_id'].map((name) => `${name}::VARCHAR AS ${name}`).join(', ');
  const files = slices.flatMap((s) => (s.file ? [s.file] : []));
  await engine.run('SET preserve_insertion_order = true'); // what stands in the files is read as it stands there
  const rejectFiles = slices.flatMap((s) => (s.rejectsFile ? [s.rejectsFile] : []));
  const read = async (files: string[], what: string) =>
    files.length === 0 ? [] : await engine.rows(`SELECT ${what} FROM read_parquet(${quoteList(files)})`);
  const rejected = await read(rejectFiles, '* REPLACE (slice_day::VARCHAR AS slice_day, item::INTEGER AS item)');
  return {
    loaded: (await read(files, texts)) as unknown as Outcome['loaded'],
    rejected: rejected as unknown as RejectRecord[],
  };
}
