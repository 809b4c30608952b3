/** The dictionary of this program, gathered from pipelines, views and `sql/dictionary`; answers come from a warehouse. */
import type { Clock } from '../core/clock.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { readDictionary } from '../warehouse/dictionary/dictionary.ts';
import type { Target } from '../warehouse/target.ts';
import { readCatalogue } from './catalogue.ts';
import { type Docs, makeDocs } from './model.ts';
import { docQuestions } from './questions.ts';
import { readRelations, readTraps } from './relations.ts';

export interface DocsSources {
  readonly pipelines: readonly Pipeline[];
  readonly clock: Clock;
  /** Where DuckDB may spill; made only if it is needed. */
  readonly tempDir: string;
  /** Whom the questions are asked; null: they are shown without answers. */
  readonly target: Target | null;
}

export async function gatherDocs({ pipelines, clock, tempDir, target }: DocsSources): Promise<Docs> {
  return makeDocs({
    pipelines,
    catalogue: await readCatalogue(pipelines, clock, tempDir),
    dictionary: await readDictionary(pipelines),
    groups: await readRelations(),
    traps: await readTraps(),
    questions: await docQuestions(target),
  });
}
