/** Files of a home directory, read with nothing of the product: for the scripts that look at its work from outside. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'libsql';

/** The slices that the state says are the lake's: content, and whether something is held of them. */
export function entriesOf(home, pipeline) {
  const database = new Database(path.join(home, 'state.db'), { readonly: true });
  try {
    const rows = database
      .prepare(
        `SELECT slice.*, hold.day AS held FROM slice LEFT JOIN hold USING (account, pipeline, day) WHERE pipeline = ? ORDER BY day`,
      )
      .all([pipeline]);
    return rows.map(({ held, sums, ...content }) => ({ content: { ...content, sums: JSON.parse(sums) }, held }));
  } finally {
    database.close();
  }
}

/** The rows of fetches, in the order in which they were written. */
export function fetchesOf(home, pipeline) {
  const state = new Database(path.join(home, 'state.db'), { readonly: true });
  try {
    const rows = state.prepare('SELECT * FROM "fetch" WHERE pipeline = ? ORDER BY seq').all(pipeline);
    return rows.map(({ pruned_at, notes, ...row }) => ({
      ...row,
      ...(notes === null ? {} : { notes: JSON.parse(notes) }),
      ...(pruned_at === null ? {} : { pruned_at }),
    }));
  } finally {
    state.close();
  }
}

/** The day on which a fetch ended, where the service is. */
export function dayOf({ finished_at: at }) {
  return new Date(at).toLocaleDateString('sv-SE', { timeZone: 'Europe/Amsterdam' });
}

/** The decoded answer of a fetch, proved by its sha256. */
export function answerOf(home, fetch) {
  return decoded(fetch, readFileSync(path.join(home, fetch.raw_path)));
}

/** What was asked and answered by these fetches, which share objects; null where an object is gone. */
export function* gatheredIn(home, fetches) {
  const objects = new Map();
  const linesOf = (file) => {
    if (!objects.has(file)) objects.set(file, gunzipSync(readFileSync(file)).toString('utf8').split('\n'));
    return objects.get(file);
  };
  for (const fetch of fetches) {
    const file = path.join(home, fetch.raw_path);
    if (!existsSync(file)) {
      yield null;
      continue;
    }
    const { fetch: record, request, body, base64 } = JSON.parse(linesOf(file)[fetch.line]);
    if (record.fetch_id !== fetch.fetch_id)
      throw new Error(`${file} has fetch ${record.fetch_id} in the place of ${fetch.fetch_id}`);
    const bytes = body === undefined ? Buffer.from(base64, 'base64') : Buffer.from(body, 'utf8');
    yield { fetch, asked: request, body: proved(fetch, bytes) };
  }
}

function decoded(fetch, stored) {
  const { raw_path: place } = fetch;
  return proved(fetch, place.endsWith('.gz') ? gunzipSync(stored) : stored);
}

function proved({ raw_path: place, fetch_id: id, sha256 }, bytes) {
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Error(`${place} is not what fetch ${id} received`);
  return bytes;
}
