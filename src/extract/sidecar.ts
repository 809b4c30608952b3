/** Sidecars: the record of a fetch in a file of its own. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { EtlError } from '../core/errors.ts';
import type { FetchRecord } from '../core/records.ts';
import { writeAtomic } from '../disk/atomic.ts';
import { recordIn, recordText } from './fetch-record.ts';

/** What their names end in. */
export const SIDECAR = '.json';

/** Where the record of a fetch lies. `vaultRoot` is the folder of the vault. */
export function sidecarFile(vaultRoot: string, pipeline: string, startedAt: string, fetchId: string): string {
  return path.join(vaultRoot, pipeline, 'fetches', startedAt.slice(0, 7), `${fetchId}${SIDECAR}`);
}

export function writeSidecar(file: string, fetch: FetchRecord): Promise<void> {
  return writeAtomic(file, `${recordText(fetch, 'file')}\n`);
}

/** Errors: `failed/damaged_record`, and the file is as it was: a checksum made anew would have a damaged record pass for a sound one. */
export async function changeSidecar(file: string, change: (fetch: FetchRecord) => FetchRecord): Promise<void> {
  const fetch = recordIn(await readFile(file, 'utf8'));
  if (fetch === null) throw damagedRecord(file);
  await writeSidecar(file, change(fetch));
}

export function damagedRecord(file: string): EtlError {
  return new EtlError('failed', 'damaged_record', `${file} is no fetch record, or is damaged`, {
    concern: { file },
    hint: 'restore it from a backup, then run the same command again',
  });
}
