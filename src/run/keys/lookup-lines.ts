/** Stored answers of look-ups → rows as they were observed, for any look-up. */
import { EtlError } from '../../core/errors.ts';
import { type Pipeline, partsOf } from '../../core/pipeline.ts';
import type { DriftRecord, FetchRecord } from '../../core/records.ts';
import { linesSource, type ObservedRows } from '../../normalise/observed.ts';
import type { LineFile } from '../../sources/lines.ts';
import { AnswerReader } from '../../sources/reader.ts';
import type { RunContext } from '../context.ts';

export interface LookupLines {
  readonly parent: ObservedRows;
  readonly children: readonly ObservedRows[];
  /** What could not become a row. */
  readonly rejects: LineFile;
  readonly duplicates: number;
  readonly drift: readonly DriftRecord[];
}

/** Reads the answers from the raw store into files of lines in `folder`. An answer that cannot be read is named in the log and left out. */
export async function linesOf(
  context: RunContext,
  pipeline: Pipeline,
  fetches: readonly FetchRecord[],
  folder: string,
): Promise<LookupLines> {
  const children = partsOf(context.pipelines, pipeline);
  const reader = await AnswerReader.open(pipeline, children, folder, context.timeZone);
  try {
    for await (const answer of context.raw.readAnswers(fetches)) {
      await reader.take(answer).catch((error) => {
        if (!(error instanceof EtlError) || error.kind === 'bug') throw error;
        context.log.warn(`the answer of fetch ${answer.fetch.fetch_id} is left out: ${error.message}`, {
          pipeline: pipeline.name,
          request: answer.fetch.fetch_id,
          code: error.code,
        });
      });
    }
  } catch (error) {
    await reader.close().catch(() => undefined); // the first error is the one to report
    throw error;
  }
  const { rows, children: files, ...rest } = await reader.close();
  return { parent: rowsIn(pipeline, rows), children: children.map((child, i) => rowsIn(child, files[i]!)), ...rest };
}

function rowsIn(pipeline: Pipeline, { file, lines, longestLineBytes }: LineFile): ObservedRows {
  return { pipeline, lines, source: linesSource(pipeline, file, longestLineBytes) };
}
