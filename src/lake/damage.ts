/** Manifests and journal as they are read: whole and of this layout, or refused by name with the mend. */
import type { ZodType } from 'zod';
import { addDays, type Day, monthOf, parseDay } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { readIfThere } from '../disk/atomic.ts';
import { LAYOUT } from './entries.ts';

/** Code of the error that names a damaged manifest or journal. */
export const DAMAGED = 'damaged_manifest';

/** `hint`: how a damaged one is mended. */
export async function readManifest<T>(file: string, schema: ZodType<T>, hint: string): Promise<T | null> {
  const text = await readIfThere(file);
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(file, 'it is no JSON', hint);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  if (isNewer(value)) throw newerLayout(file);
  const issue = parsed.error.issues[0];
  throw damaged(file, `${issue?.path.join('.')}: ${issue?.message}`, hint);
}

function isNewer(value: unknown): boolean {
  const { layout } = (value ?? {}) as { readonly layout?: unknown };
  return typeof layout === 'number' && layout > LAYOUT;
}

function newerLayout(file: string): EtlError {
  return new EtlError(
    'failed',
    'newer_lake',
    `${file} was written by a newer partner-etl, which this one cannot read`,
    {
      concern: { file },
      hint: 'update this partner-etl; do not delete the file, it is not damaged',
    },
  );
}

function damaged(file: string, why: string, hint: string): EtlError {
  return new EtlError('failed', DAMAGED, `${file} is damaged: ${why}`, { concern: { file }, hint });
}

/** Of a manifest. `pipeline`: as people name it. */
export function replayHint(pipeline: string, month: string): string {
  const [first, last] = [firstDay(month), addDays(firstDay(nextMonth(month)), -1)];
  return `make it again from the vault: partner-etl replay ${pipeline} --from ${first} --to ${last}`;
}

/** Of the journal. */
export function journalHint(file: string): string {
  return `rm ${file} (the commit that it tells of was cut off); then partner-etl run, and partner-etl verify names what is not whole`;
}

function firstDay(month: string): Day {
  return parseDay(`${month}-01`);
}

function nextMonth(month: string): string {
  return monthOf(addDays(firstDay(month), 31));
}
