/** Stored answers of look-ups → told rows, for whichever look-up it is. */
import { assert, EtlError } from '../core/errors.ts';
import { type LookupName, type Pipeline, partsOf } from '../core/pipeline.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import { CommissionLines } from '../extract/commission-lines.ts';
import { LinkLines } from '../extract/link-lines.ts';
import type { LookupAnswer } from '../extract/lookup-answer.ts';
import { ProcessStatusLines } from '../extract/process-status-lines.ts';
import { ProductLines } from '../extract/product-lines.ts';
import type { LineFile } from '../extract/told-lines.ts';
import { linesSource, type Told } from '../normalise/told.ts';
import type { RunContext } from './context.ts';

export interface LookupLines {
  readonly whole: Told;
  readonly parts: readonly Told[];
  /** What could not become a row; null where that stands among the rows. */
  readonly rejects: LineFile | null;
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
  const lines = await OPEN[source.lookup](context, pipeline, folder);
  try {
    for await (const answer of context.vault.readAnswers(fetches)) {
      await lines.take(answer).catch((error) => {
        if (!(error instanceof EtlError) || error.kind === 'bug') throw error;
        context.log.warn(`the answer of fetch ${answer.fetch.fetch_id} is left out: ${error.message}`, {
          pipeline: pipeline.name,
          request: answer.fetch.fetch_id,
          code: error.code,
        });
      });
    }
  } catch (error) {
    await lines.close().catch(() => undefined); // the first error is the one to tell
    throw error;
  }
  return lines.close();
}

/** Takes answers one by one into files of lines. */
interface AnswerLines {
  take(answer: LookupAnswer): Promise<void>;
  close(): Promise<LookupLines>;
}

type OpenLines = (context: RunContext, pipeline: Pipeline, folder: string) => Promise<AnswerLines>;

const OPEN: Readonly<Record<LookupName, OpenLines>> = {
  commission: async ({ timeZone, pipelines }, pipeline, folder) => {
    const lines = await CommissionLines.open(folder, timeZone);
    return linesInto(lines, async () => {
      const { rates, reductions, rejects, counts, drift } = await lines.close();
      const [part] = partsOf(pipelines, pipeline);
      assert(part, `${pipeline.name} has no part for its reductions`);
      const { duplicates } = counts;
      return { whole: toldIn(pipeline, rates), parts: [toldIn(part, reductions)], rejects, duplicates, drift };
    });
  },
  product: async ({ timeZone }, pipeline, folder) => {
    const lines = await ProductLines.open(folder, timeZone);
    return linesInto(lines, async () => {
      const { products, rejects, drift } = await lines.close();
      return { whole: toldIn(pipeline, products), parts: [], rejects, duplicates: 0, drift };
    });
  },
  'process-status': async ({ timeZone }, pipeline, folder) => {
    const lines = await ProcessStatusLines.open(folder, timeZone);
    return linesInto(lines, async () => {
      const { processes, rejects, drift } = await lines.close();
      return { whole: toldIn(pipeline, processes), parts: [], rejects, duplicates: 0, drift };
    });
  },
  'push-link': async ({ timeZone }, pipeline, folder) => {
    const lines = await LinkLines.open(folder, timeZone);
    return linesInto(lines, async () => {
      const { links, drift } = await lines.close();
      return { whole: toldIn(pipeline, links), parts: [], rejects: null, duplicates: 0, drift };
    });
  },
};

function linesInto(lines: Pick<AnswerLines, 'take'>, close: AnswerLines['close']): AnswerLines {
  return { take: (answer) => lines.take(answer), close };
}

function toldIn(pipeline: Pipeline, { file, lines, longestLineBytes }: LineFile): Told {
  return { pipeline, lines, source: linesSource(pipeline, file, longestLineBytes) };
}
