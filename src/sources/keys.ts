/** The keys that a call asked for, as they are stored beside its answer. */
import { EtlError } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { FetchRecord } from '../core/records.ts';

/** A key with what else the call said about it, by the names that columns of origin `request` have. */
export type AskedKey = Readonly<Record<string, string | null>>;

function isUnnamed({ reading }: Pipeline, field: string, key: AskedKey): boolean {
  const { to, unnamedWhen } = reading?.match ?? {};
  return field === to && unnamedWhen !== undefined && key[unnamedWhen.member] === unnamedWhen.value;
}

/** None for a list. They are ours, but the store may be damaged. Errors: `failed/damaged_answer`. */
export function keysIn(pipeline: Pipeline, asked: unknown, fetch: FetchRecord): readonly AskedKey[] {
  if (pipeline.source.kind === 'list') return [];
  const keys: unknown[] = Array.isArray(asked) ? asked : [asked];
  const needed = pipeline.columns.filter(({ origin }) => origin === 'request');
  const isKey = (key: unknown): key is AskedKey =>
    typeof key === 'object' &&
    key !== null &&
    needed.every(({ field, required, known }) => {
      const value: unknown = (key as Record<string, unknown>)[field];
      if (typeof value === 'string') return known.length === 0 || known.includes(value);
      return value === null && (!required || isUnnamed(pipeline, field, key as AskedKey));
    });
  if (keys.length > 0 && keys.every(isKey)) return keys;
  throw new EtlError('failed', 'damaged_answer', `fetch ${fetch.fetch_id} has no keys beside its answer`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
  });
}
