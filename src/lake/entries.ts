/** What the lake's manifests say of a slice. */
import { z } from 'zod';
import type { Day } from '../core/days.ts';
import type { SliceContent } from '../core/records.ts';

/** A slice that was fetched but is kept back. */
export interface HeldSlice {
  readonly content: SliceContent;
  readonly file: string | null;
  readonly rejects_file: string | null;
  readonly reason: string;
  readonly detail: string;
  readonly rows_before: number;
  readonly held_at: string;
}

export interface SliceEntry {
  readonly content: SliceContent;
  /** File names inside the month's folders; null when there is nothing to hold. */
  readonly file: string | null;
  readonly rejects_file: string | null;
  /** An item of this slice turned up on another day; ask the service again. */
  readonly moved: boolean;
  readonly held: HeldSlice | null;
}

const day = z.custom<Day>((value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value));
const fileName = z
  .string()
  .regex(/^[a-z0-9.-]+$/)
  .nullable();

const content = z.strictObject({
  day,
  digest: z.string().regex(/^[0-9a-f]{32}$/),
  rows: z.int().nonnegative(),
  rejects: z.int().nonnegative(),
  duplicates: z.int().nonnegative(),
  sums: z.record(z.string(), z.string().nullable()),
  settled: z.boolean(),
  version: z.int(),
  fetch_id: z.string(),
  fetched_at: z.string(),
  key_min: z.string().nullable(),
  key_max: z.string().nullable(),
});

const held = z.strictObject({
  content,
  file: fileName,
  rejects_file: fileName,
  reason: z.string(),
  detail: z.string(),
  rows_before: z.int(),
  held_at: z.string(),
});

const entry = z.strictObject({
  content,
  file: fileName,
  rejects_file: fileName,
  moved: z.boolean(),
  held: held.nullable(),
});

/** The name of a slice's files: what a day held at any time has a name of its own. */
export function fileNameOf({ day, digest }: Pick<SliceContent, 'day' | 'digest'>): string {
  return `${day}.${digest.slice(0, 12)}.parquet`;
}

/** Of manifests and journal; what an older program could misread gets a higher one. */
export const LAYOUT = 1;

/** One month of one pipeline: `manifests/<pipeline>/<yyyy-mm>.json`. */
export const monthManifest = z.strictObject({
  layout: z.literal(LAYOUT),
  slices: z.record(z.string(), entry).superRefine((slices, found) => {
    for (const [name, { content: now, held: kept, ...files }] of Object.entries(slices))
      for (const { content: told, file, rejects_file } of [{ content: now, ...files }, ...(kept ? [kept] : [])]) {
        if (told.day !== name) found.addIssue(`${name} says that it is ${told.day}`);
        for (const one of [file, rejects_file])
          if (one !== null && one !== fileNameOf(told)) found.addIssue(`${name} names a file of other content, ${one}`);
      }
  }),
});

export type MonthManifest = { readonly layout: typeof LAYOUT; readonly slices: Readonly<Record<string, SliceEntry>> };

/** What is about to be made true of several months at once, each by `<pipeline>/<yyyy-mm>`. */
export const journalSchema = z.strictObject({ layout: z.literal(LAYOUT), months: z.record(z.string(), monthManifest) });

export type Journal = { readonly layout: typeof LAYOUT; readonly months: Readonly<Record<string, MonthManifest>> };
