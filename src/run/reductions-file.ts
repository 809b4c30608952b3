/** A reductions file that was received → lines that came and went, and the record of the file itself. */
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { dayAt } from '../core/days.ts';
import { asEtlError, assert } from '../core/errors.ts';
import { type Pipeline, partsOf } from '../core/pipeline.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import { quoteText } from '../engine/duckdb.ts';
import { type ReductionLines, reductionLines } from '../extract/reduction-lines.ts';
import { linesSource, type Told } from '../normalise/told.ts';
import { applyTold, type ObservingOptions, type ObservingResult } from './observing.ts';
import { lastFile } from './reductions-plan.ts';
import type { Session } from './session.ts';

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
  const [files] = partsOf(context.pipelines, pipeline);
  assert(files, `${pipeline.name} has no part for its files`);
  await mkdir(outDir, { recursive: true });
  const { place = { lake: context.lake, under: null } } = options;
  const last = await lastFile(engine, place, context.pipelines, pipeline);
  const isSame = last?.sha256 === sha256;
  const told = {
    fetchId,
    fileName: notes.file_name,
    observedOn: dayAt(Date.parse(at), context.timeZone),
    observedFrom: at,
  };
  const linesFile = path.join(outDir, 'lines.ndjson');
  const format = context.lookups.reductions;
  await writeFile(linesFile, '');
  const lines = isSame
    ? NO_LINES
    : await reductionLines(createReadStream(decodedFile, { highWaterMark: READ_BYTES }), format, told, linesFile).catch(
        (thrown) => {
          const error = asEtlError(thrown).about({ file: record.vault_path ?? '', requestId: fetchId });
          session.ledger.drift.push(driftOf(pipeline, record, error.code, 'header', error.message));
          throw error;
        },
      );
  if (last !== null && last.fileName === told.fileName && !isSame)
    session.ledger.drift.push(driftOf(pipeline, record, 'same_name_other_content', 'file_name', told.fileName));
  session.ledger.drift.push(...lines.drift.map((d) => ({ pipeline: pipeline.name, fetch_id: fetchId, ...d })));
  const recorded = { ...told, askedName: notes.asked_name, sha256, bytes: String(record.bytes_decoded) };
  const result = await applyTold(
    session,
    {
      pipeline,
      whole: toldIn(pipeline, linesFile, lines),
      parts: [
        await fileTold(files, { ...recorded, lines: String(lines.lines), isSameContent: String(isSame) }, outDir),
      ],
      ...(isSame ? {} : { isWhole: { day: told.observedOn, at, fetchId, gone: goneAs(told.fileName) } }),
      refusedFiles: [],
      fetchId,
      outDir,
    },
    options,
  );
  session.ledger.drift.push(...result.drift);
  return result;
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
  { fetchId, ...fields }: Readonly<Record<string, string | undefined>>,
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
