/** Files of a home directory, read with nothing of the product: for the scripts that look at its work from outside. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, inflateRawSync } from 'node:zlib';

/** The slices that the lake's manifests name. */
export function entriesOf(home, pipeline) {
  const folder = path.join(home, 'manifests', pipeline);
  const months = existsSync(folder) ? readdirSync(folder).sort() : [];
  return months.flatMap((month) => Object.values(JSON.parse(readFileSync(path.join(folder, month), 'utf8')).slices));
}

/** The fetch records: a file each for reports and files, a line each for look-ups. */
export function fetchesOf(home, pipeline) {
  const folder = path.join(home, 'vault', pipeline, 'fetches');
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
  const textsIn = (name) => {
    if (!/\.(nd)?json$/.test(name)) return [];
    const text = readFileSync(path.join(folder, name), 'utf8');
    return name.endsWith('.ndjson') ? text.split('\n').filter((line) => line !== '') : [text];
  };
  return names.flatMap(textsIn).map((text) => JSON.parse(text));
}

/** The day on which a fetch ended, where the service is. */
export function dayOf({ finished_at: at }) {
  return new Date(at).toLocaleDateString('sv-SE', { timeZone: 'Europe/Amsterdam' });
}

/** The decoded answer of a fetch, proved by its sha256. */
export function answerOf(home, fetch) {
  return decoded(fetch, readFileSync(path.join(home, fetch.vault_path)));
}

/** What was asked and answered in the packs by these fetches; null where a pack is gone. */
export function* packedIn(home, fetches) {
  const packs = new Map();
  const packAt = (file) => packs.get(file) ?? packs.set(file, readFileSync(path.join(home, file))).get(file);
  for (const fetch of fetches) {
    const [, file, offset, length] = /^(.*)@(\d+)\+(\d+)(?:\.gz)?$/.exec(fetch.vault_path);
    const entry = existsSync(path.join(home, file)) ? packAt(file).subarray(+offset, +offset + +length) : null;
    const end = entry === null ? 0 : 4 + entry.readUInt32BE(0);
    yield entry && {
      fetch,
      asked: JSON.parse(askedIn(entry.subarray(4, end)).toString('utf8')),
      body: decoded(fetch, entry.subarray(end)),
    };
  }
}

/** Homes of before have questions without a checksum. */
function askedIn(bytes) {
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : inflateRawSync(bytes);
}

function decoded({ vault_path: place, fetch_id: id, sha256 }, stored) {
  const bytes = place.endsWith('.gz') ? gunzipSync(stored) : stored;
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Error(`${place} is not what fetch ${id} received`);
  return bytes;
}
