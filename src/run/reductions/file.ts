/** A reductions file that was received → lines that came and went, and the record of the file itself. */
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ReductionsSettings } from '../../../pipelines/reductions.ts';
import { dayAt } from '../../core/days.ts';
import { asEtlError, assert } from '../../core/errors.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import type { DriftRecord, FetchRecord } from '../../core/records.ts';
import { FileSink } from '../../disk/sink.ts';
import { quoteText } from '../../engine/duckdb.ts';
import { type ReductionLines, reductionLines } from '../../extract/reduction-lines.ts';
import { linesSource, sharing, type Told } from '../../normalise/told.ts';
import { settingsOf } from '../context.ts';
import { applyTold, type ObservingOptions, type ObservingResult } from '../merge/observing.ts';
import type { Session } from '../session.ts';
import { lastFile } from './plan.ts';

const READ_BYTES = 1024 * 1024;
const NO_LINES: ReductionLines = { lines: 0, longestLineBytes: 0, drift: [] };

/**
 * Applies a decoded file. The content of the file before under a new name is recorded, and brings nothing else; other content
 * under the name of the file before is drift. Errors: those of `reductionLines`, which leave everything as it was.
 */
export async function applyFile(
  session: Session,
  pipeline: Pipeline,
  record: FetchRecord,
  decodedFile: string,
  outDir: string,
  options: ObservingOptions = {},
): Promise<ObservingResult> {
  const { context, engine } = session;
  const { notes, sha256, fetch_id: fetchId, finished_at: at } = record;
  assert(notes?.file_name && sha256, `fetch ${fetchId} says nothing of a file`);
  const [files] = childrenOf(context.pipelines, pipeline);
  assert(files, `${pipeline.name} has no part for its files`);
  await mkdir(outDir, { recursive: true });
  const { place = { lake: context.lake, under: null } } = options;
  const last = await lastFile(engine, place, context.pipelines, pipeline);
  const isSame = last?.sha256 === sha256;
  const observedOn = dayAt(Date.parse(at), context.timeZone);
  const seen = { fileName: notes.file_name, observedOn, observedFrom: at };
  const linesFile = path.join(outDir, 'lines.ndjson');
  await writeFile(linesFile, '');
  const lines = isSame ? NO_LINES : await readLines(session, pipeline, record, decodedFile, linesFile);
  if (last !== null && last.fileName === seen.fileName && !isSame)
    session.ledger.drift.push(driftOf(pipeline, record, 'same_name_other_content', 'file_name', seen.fileName));
  session.ledger.drift.push(...lines.drift.map((d) => ({ pipeline: pipeline.name, fetch_id: fetchId, ...d })));
  const whole = toldIn(pipeline, linesFile, lines);
  const file = { ...seen, askedName: notes.asked_name, sha256, bytes: String(record.bytes_decoded) };
  const counted = { lines: String(lines.lines), isSameContent: String(isSame) };
  const result = await applyTold(
    session,
    {
      pipeline,
      whole: { ...whole, source: sharing(whole.source, { ...seen, _f: fetchId, isPresent: 'true' }) },
      parts: [await fileTold(files, fetchId, { ...file, ...counted }, outDir)],
      ...(isSame ? {} : { isWhole: { day: observedOn, at, fetchId, gone: goneAs(seen.fileName) } }),
      refusedFiles: [],
      fetchId,
      outDir,
    },
    options,
  );
  session.ledger.drift.push(...result.drift);
  return result;
}

/** The same from the vault. Errors: also `failed/damaged_answer`. */
export async function applyStored(
  session: Session,
  pipeline: Pipeline,
  fetch: FetchRecord,
  folder: string,
  options: ObservingOptions = {},
): Promise<ObservingResult> {
  await mkdir(folder, { recursive: true });
  const decoded = path.join(folder, 'decoded');
  const sink = await FileSink.open(decoded);
  try {
    for await (const chunk of session.context.vault.answer(fetch, true)) await sink.write(chunk.slice());
  } finally {
    await sink.close();
  }
  const result = await applyFile(session, pipeline, fetch, decoded, path.join(folder, 'out'), options);
  session.tally.add(result);
  return result;
}

/** A file that is none is drift, and an error that names where it lies. */
async function readLines(
  { context, ledger }: Session,
  pipeline: Pipeline,
  record: FetchRecord,
  decodedFile: string,
  linesFile: string,
): Promise<ReductionLines> {
  try {
    const decoded = createReadStream(decodedFile, { highWaterMark: READ_BYTES });
    return await reductionLines(decoded, settingsOf<ReductionsSettings>(context, pipeline), linesFile);
  } catch (thrown) {
    const error = asEtlError(thrown).about({ file: record.vault_path ?? '', requestId: record.fetch_id });
    ledger.drift.push(driftOf(pipeline, record, error.code, 'header', error.message));
    throw error;
  }
}

/** What a line says that is no longer in the file. */
function goneAs(fileName: string) {
  return { is_present: 'false', file_name: quoteText(fileName) };
}

function toldIn(pipeline: Pipeline, file: string, { lines, longestLineBytes }: ReductionLines): Told {
  return { pipeline, lines, source: linesSource(pipeline, file, longestLineBytes) };
}

/** The one row of the file itself. */
async function fileTold(
  files: Pipeline,
  fetchId: string,
  fields: Readonly<Record<string, string | undefined>>,
  outDir: string,
): Promise<Told> {
  const file = path.join(outDir, 'file.ndjson');
  const line = JSON.stringify({ _i: '0', _f: fetchId, _raw: fields.fileName, ...fields });
  await writeFile(file, `${line}\n`);
  return toldIn(files, file, { lines: 1, longestLineBytes: Buffer.byteLength(line), drift: [] });
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
