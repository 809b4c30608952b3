/** Words in the state in which an erased value may be cited: of errors, and of what was seen that the contract does not know. */

import type { RunContext } from '../../run/context.ts';
import { renameAsked } from '../../store/tables/asked.ts';
import { rewriteTexts, type TableTexts } from '../../store/tables/rewrite.ts';
import type { Erasures } from '../masking/erasures.ts';
import { type MaskScope, maskJson } from '../masking/mask-text.ts';
import { maskWords } from './words.ts';

const WORDS_IN: readonly TableTexts[] = [
  { table: 'run', key: ['run_id'], texts: ['command', 'summary'] },
  { table: 'fetch', key: ['fetch_id'], texts: ['url', 'error_message'] },
  { table: 'drift', key: ['run_id', 'nth'], texts: ['field', 'example', 'found_by'] },
];
/** Of these columns, those that hold JSON; the others are words themselves. */
const DOCUMENTS: ReadonlySet<string> = new Set(['summary', 'found_by']);

/** Returns in how many rows something was replaced. */
export async function maskState({ state }: RunContext, erasures: Erasures, isDryRun: boolean): Promise<number> {
  let rows = 0;
  for (const of of WORDS_IN)
    rows += await rewriteTexts(state, of, (text, column) => masked(erasures, text, column), isDryRun);
  return rows;
}

function masked(erasures: Erasures, text: string, column: string): string {
  if (!DOCUMENTS.has(column)) return String(maskWords(erasures, text, column));
  const value: unknown = JSON.parse(text);
  const fresh = JSON.stringify(maskWords(erasures, value));
  return fresh === JSON.stringify(value) ? text : fresh;
}

/** What look-ups remember of the keys that were asked for. Returns how many keys were concerned. */
export async function maskAsked(
  { state, pipelines }: RunContext,
  scopes: ReadonlyMap<string, MaskScope>,
  erasures: Erasures,
  isDryRun: boolean,
): Promise<number> {
  let keys = 0;
  for (const { name } of pipelines) {
    const scope = scopes.get(name);
    if (scope) keys += await renameAsked(state, name, (key) => maskJson(erasures, key, scope), isDryRun);
  }
  return keys;
}
