/** A reductions file that was received → lines that came and went, and the record of the file itself. */
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ReductionsSettings } from '../../../pipelines/reductions.ts';
import { dayAt } from '../../core/days.ts';
import { asEtlError, assert } from '../../core/errors.ts';
import { type Pipeline, partsOf } from '../../core/pipeline.ts';
import type { DriftRecord, FetchRecord } from '../../core/records.ts';
import { FileSink } from '../../disk/sink.ts';
import { type ReductionLines, reductionLines } from '../../extract/reduction-lines.ts';
import { linesSource, type ObservedRows, sharing, withPlainLines } from '../../normalise/observed.ts';
import { type RunContext, settingsOf } from '../context.ts';
import { observeRows } from '../merge/observing.ts';
import type { Session } from '../session.ts';
import type { Into } from '../sources/source.ts';
import type { Applied } from '../tally.ts';
import { lastFile } from './plan.ts';

const READ_BYTES = 1024 * 1024;

/** A file that is decoded, and whose lines are read. */
export interface ReadFile {
  readonly fetch: FetchRecord;
  readonly lines: ReductionLines;
}

/** Reads a decoded file. Errors: those of `reductionLines`, with where the file lies. */
export async function readFile(
  context: RunContext,
  pipeline: Pipeline,
  fetch: FetchRecord,
  decodedFile: string,
  folder: string,
): Promise<ReadFile> {
  const files = { plain: path.join(folder, 'lines.csv'), others: path.join(folder, 'lines.ndjson') };
  try {
    const decoded = createReadStream(decodedFile, { highWaterMark: READ_BYTES });
    return { fetch, lines: await reductionLines(decoded, settingsOf<ReductionsSettings>(context, pipeline), files) };
  } catch (thrown) {
    throw asEtlError(thrown).about({ file: fetch.raw_path ?? '', requestId: fetch.fetch_id });
  }
}

/** The same from the raw store. Errors: also `failed/damaged_answer`. */
export async function readStoredFile(
  context: RunContext,
  pipeline: Pipeline,
  fetch: FetchRecord,
  folder: string,
): Promise<ReadFile> {
  const decoded = path.join(folder, 'decoded');
  const sink = await FileSink.open(decoded);
  try {
    for await (const chunk of context.raw.answer(fetch, true)) await sink.write(chunk.slice());
  } finally {
    await sink.close();
  }
  return readFile(context, pipeline, fetch, decoded, folder);
}

/**
 * Applies a file. The content of the file before under a new name is recorded, and brings nothing else; other content under the name
 * of the file before is drift.
 */
export async function applyFile(
  session: Session,
  pipeline: Pipeline,
  { fetch, lines: read }: ReadFile,
  into: Into,
  folder: string,
): Promise<Applied> {
  const { context, engine } = session;
  const { notes, sha256, fetch_id: fetchId, finished_at: at } = fetch;
  assert(notes?.file_name && sha256, `fetch ${fetchId} says nothing of a file`);
  const [files] = partsOf(context.pipelines, pipeline);
  assert(files, `${pipeline.name} has no child for its files`);
  const last = await lastFile(engine, into.place, context.pipelines, pipeline);
  const isSame = last?.sha256 === sha256;
  const lines = isSame ? 0 : read.lines;
  const drift = (isSame ? [] : read.drift).map((one) => ({ pipeline: pipeline.name, fetch_id: fetchId, ...one }));
  const observedOn = dayAt(Date.parse(at), context.timeZone);
  const seen = { fileName: notes.file_name, observedOn, observedFrom: at };
  if (last !== null && last.fileName === seen.fileName && !isSame)
    drift.push(driftOf(pipeline, fetch, 'same_name_other_content', 'file_name', seen.fileName));
  const source = sharing(sourceOf(pipeline, read), { ...seen, _f: fetchId });
  const file = { ...seen, askedName: notes.asked_name, sha256, bytes: String(fetch.bytes_decoded) };
  const counted = { lines: String(lines), isSameContent: String(isSame) };
  const applied = await observeRows(
    session,
    {
      pipeline,
      parent: { pipeline, lines, source, hasExponents: read.hasExponents },
      children: [await fileRow(files, fetchId, { ...file, ...counted }, folder)],
      ...(isSame ? {} : { complete: { day: observedOn, at, fetchId } }),
      refusedFiles: [],
      fetchId,
      outDir: path.join(folder, 'slices'),
    },
    into,
  );
  return { ...applied, drift: [...drift, ...applied.drift] };
}

function sourceOf(pipeline: Pipeline, { files, delimiter, cells, longestLineBytes }: ReductionLines): string {
  const others = linesSource(pipeline, files.others, longestLineBytes);
  return withPlainLines(others, { file: files.plain, delimiter, fields: cells });
}

/** The one row of the file itself. */
async function fileRow(
  files: Pipeline,
  fetchId: string,
  fields: Readonly<Record<string, string | undefined>>,
  outDir: string,
): Promise<ObservedRows> {
  const file = path.join(outDir, 'file.ndjson');
  const line = JSON.stringify({ _i: '0', _f: fetchId, _raw: fields.fileName, ...fields });
  await writeFile(file, `${line}\n`);
  const source = linesSource(files, file, Buffer.byteLength(line));
  return { pipeline: files, lines: 1, source, hasExponents: false };
}

export function driftOf(
  pipeline: Pipeline,
  record: FetchRecord,
  kind: string,
  field: string,
  example: string,
): DriftRecord {
  return { pipeline: pipeline.name, fetch_id: record.fetch_id, kind, field, count: 1, example: example.slice(0, 200) };
}
