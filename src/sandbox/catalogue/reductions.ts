/** Endpoints 15 and 16: the newest reductions file, and its name. */

import { announcedName, dispositionOf } from '../faults/file-faults.ts';
import type { CallFaults } from '../faults/kinds.ts';
import { type Answer, type Call, retailerType, retailerVersion } from '../http/call.ts';
import { refusedMedia } from '../http/media.ts';
import { filePieces } from './csv-file.ts';
import type { Exports } from './exports.ts';

function typeOf(call: Call): string {
  return retailerType(retailerVersion(call.headers.accept, 'csv') ?? 3, 'csv');
}

/** Endpoint 15: the whole file; its name stands in Content-Disposition, without quotes. */
export function reductionsFile(exports: Exports, call: Call, { file }: CallFaults): Answer {
  const refused = refusedMedia(call, 'csv');
  if (refused !== undefined) return refused;
  const disposition = dispositionOf(exports.latest(call.now).name, file);
  const headers = {
    'content-type': typeOf(call),
    ...(disposition === undefined ? {} : { 'content-disposition': disposition }),
  };
  return { status: 200, headers, body: filePieces(exports.lines(call.now), file) };
}

/** Endpoint 16: the bare name as text. */
export function latestReductions(exports: Exports, call: Call, { file }: CallFaults): Answer {
  const refused = refusedMedia(call, 'csv');
  if (refused !== undefined) return refused;
  return {
    status: 200,
    headers: { 'content-type': typeOf(call) },
    body: announcedName(exports.latest(call.now).name, file),
  };
}

/** Name and text of the newest file, as a perfect client would hold them. */
export function reductionsTruth(exports: Exports, now: number): { readonly name: string; readonly text: string } {
  const text = Buffer.concat([...filePieces(exports.lines(now), [])]).toString();
  return { name: exports.latest(now).name, text };
}
