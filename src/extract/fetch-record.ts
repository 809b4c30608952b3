/**
 * Fetch records as text: JSON that ends in the CRC-32 (ISO-HDLC, eight lower-case hex digits) of what stands before it, as UTF-8.
 *
 *   {"fetch_id":"f01…", …, "error_message":null,"crc32":"9f3a01c7"}
 *
 * An answer is proved by its sha256, and a slice by its digest; a record says what was asked, for which days, and where the answer
 * lies. A bit that turned over in it would give rows to other days, or have a sound answer taken for lost.
 */
import { crc32 } from 'node:zlib';
import type { FetchRecord } from '../core/records.ts';

/** Also under another name: a bit may have turned over in that. No other member that can come last looks like this. */
const SEAL = /,\s*"(?<name>[^"]*)":\s*"(?<crc>[0-9a-f]{8})"\s*\}\s*$/;

/** The record as one line, or with a member a line where it is a file of its own; without a line feed behind it. */
export function recordText(fetch: FetchRecord, layout: 'line' | 'file'): string {
  const members = JSON.stringify(fetch, null, layout === 'line' ? 0 : 1)
    .slice(0, -1)
    .trimEnd();
  const crc = crcOf(members);
  return layout === 'line' ? `${members},"crc32":"${crc}"}` : `${members},\n "crc32": "${crc}"\n}`;
}

/** Null where the text is none, or not as it was written. Records of before there were checksums have none, and are believed. */
export function recordIn(text: string): FetchRecord | null {
  const seal = SEAL.exec(text);
  if (seal === null) {
    const record = parsed(text);
    return record !== null && 'crc32' in record ? null : record;
  }
  const members = text.slice(0, seal.index);
  const { name, crc } = seal.groups!;
  return name === 'crc32' && crcOf(members) === crc ? parsed(`${members}}`) : null;
}

function parsed(text: string): FetchRecord | null {
  try {
    const value = JSON.parse(text) as Partial<FetchRecord> | null;
    return typeof value?.fetch_id === 'string' ? (value as FetchRecord) : null;
  } catch {
    return null;
  }
}

function crcOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
