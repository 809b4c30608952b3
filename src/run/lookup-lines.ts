/** Stored answers of look-ups → told rows, for whichever look-up it is. */
import { assert, EtlError } from '../core/errors.ts';
import { type Pipeline, partsOf } from '../core/pipeline.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import { CommissionLines } from '../extract/commission-lines.ts';
import { ProductLines } from '../extract/product-lines.ts';
import type { LineFile } from '../extract/told-lines.ts';
import { linesSource, type Told } from '../normalise/told.ts';
import type { RunContext } from './context.ts';

export interface LookupLines {
  readonly whole: Told;
  readonly parts: readonly Told[];
  readonly rejects: LineFile;
  readonly duplicates: number;
  readonly drift: readonly DriftRecord[];
}

/** Reads the answers from the vault into files of lines in `folder`. An answer that is none any more is told and left out. */
export async function linesOf(
  context: RunContext,
  pipeline: Pipeline,
  fetches: readonly FetchRecord[],
  folder: string,
): Promise<LookupLines> {
  const { source } = pipeline;
  assert(source.kind === 'lookup', `${pipeline.name} is no look-up`);
  const isCommission = source.lookup === 'commission';
  const lines = isCommission
    ? await CommissionLines.open(folder, context.timeZone)
    : await ProductLines.open(folder, context.timeZone);
  try {
    for await (const answer of context.vault.readAnswers(fetches)) {
      await lines.take(answer).catch((error) => {
        if (!(error instanceof EtlError) || error.kind === 'bug') throw error;
        context.log.warn(`the answer of fetch ${answer.fetch.fetch_id} is left out: ${error.message}`, {
          pipeline: pipeline.name,
          code: error.code,
        });
      });
    }
  } catch (error) {
    await lines.close().catch(() => undefined); // the first error is the one to tell
    throw error;
  }
  if (lines instanceof ProductLines) {
    const { products, rejects, drift } = await lines.close();
    return { whole: toldIn(pipeline, products), parts: [], rejects, duplicates: 0, drift };
  }
  const { rates, reductions, rejects, counts, drift } = await lines.close();
  const [part] = partsOf(context.pipelines, pipeline);
  assert(part, `${pipeline.name} has no part for its reductions`);
  return {
    whole: toldIn(pipeline, rates),
    parts: [toldIn(part, reductions)],
    rejects,
    duplicates: counts.duplicates,
    drift,
  };
}

function toldIn(pipeline: Pipeline, { file, lines, longestLineBytes }: LineFile): Told {
  return { pipeline, lines, source: linesSource(pipeline, file, longestLineBytes) };
}
