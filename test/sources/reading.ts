/** Reads answers by a declaration, and looks at the lines that come of them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Pipeline } from '../../src/core/pipeline.ts';
import { Engine, type Row } from '../../src/engine/duckdb.ts';
import { linesSource, readObserved } from '../../src/normalise/observed.ts';
import type { LookupAnswer } from '../../src/sources/body.ts';
import type { LineFile } from '../../src/sources/lines.ts';
import { AnswerReader, type ReadCounts, type ReadFiles } from '../../src/sources/reader.ts';
import { linesIn } from '../extract/lookup-scene.ts';

type Lines = Record<string, string>[];

export interface ReadOutcome extends ReadFiles {
  readonly folder: string;
  readonly lines: Lines;
  readonly childLines: Lines;
  readonly rejectLines: Lines;
  readonly counts: ReadCounts;
}

export const NO_COUNTS: ReadCounts = {
  keys: 0,
  records: 0,
  found: 0,
  missing: 0,
  refused: 0,
  rejectedKeys: 0,
  open: 0,
  rejects: 0,
  duplicates: 0,
};

/** A reader on a folder of its own, in the zone of the service. */
export async function openReader(pipeline: Pipeline, children: readonly Pipeline[] = []) {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-answers-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { folder, reader: await AnswerReader.open(pipeline, children, folder, 'Europe/Amsterdam') };
}

export async function readAnswers(
  pipeline: Pipeline,
  children: readonly Pipeline[],
  answers: readonly LookupAnswer[],
): Promise<ReadOutcome> {
  const { folder, reader } = await openReader(pipeline, children);
  try {
    for (const answer of answers) await reader.take(answer);
  } catch (error) {
    await reader.close();
    throw error;
  }
  const files = await reader.close();
  const childLines = files.children[0] ? await linesIn(files.children[0].file) : [];
  const [lines, rejectLines] = [await linesIn(files.rows.file), await linesIn(files.rejects.file)];
  return { ...files, folder, lines, childLines, rejectLines, counts: reader.counts };
}

/** The rows as the declaration types them. */
export async function typedRows(folder: string, pipeline: Pipeline, file: LineFile, select: string): Promise<Row[]> {
  const engine = await Engine.open({ tempDir: path.join(folder, 'spill') });
  onTestFinished(() => engine.close());
  const { lines, longestLineBytes } = file;
  const source = linesSource(pipeline, file.file, longestLineBytes);
  await readObserved(engine, { pipeline, source, lines }, 'Europe/Amsterdam');
  return engine.rows(`SELECT ${select} FROM "observed ${pipeline.name}" ORDER BY _item`);
}
