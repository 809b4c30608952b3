/**
 * The fetch records of a month, oldest first, from sidecars (one file a fetch) and from runs (one file a run, in the order of
 * completion). Ids sort by birth, and a fetch is younger than its run, so a run's file is opened only when its turn comes.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FetchRecord } from '../core/records.ts';
import { recordIn } from './fetch-record.ts';
import { SIDECAR } from './sidecar.ts';

export const RUN_RECORDS = '.ndjson';

/** Calls in flight at once complete in another order than they began; no more than this many. */
const DISORDER = 1024;

/** Records with the age of the next one, as far as it is known without opening a file. */
interface Source {
  /** The time part of an id that no coming record is older than. */
  age: string;
  head: FetchRecord | null;
  readonly rest: AsyncGenerator<FetchRecord>;
}

/** Told in words, and of which file. */
type WarnOfFile = (message: string, about: { readonly file: string }) => void;

/** `names` are files of `folder`, sorted. `warn` is told of records that are torn or damaged, which are left out. */
export async function* fetchesOf(
  folder: string,
  names: readonly string[],
  warn: WarnOfFile,
): AsyncGenerator<FetchRecord> {
  const sidecars = names.filter((name) => name.endsWith(SIDECAR));
  const runs = names.filter((name) => name.endsWith(RUN_RECORDS));
  const sources: Source[] = runs.map((name) => ({
    age: ageOf(name),
    head: null,
    rest: inOrder(runRecords(path.join(folder, name), warn)),
  }));
  if (sidecars.length > 0)
    sources.push({ age: ageOf(sidecars[0]!), head: null, rest: sidecarRecords(folder, sidecars, warn) });
  for (;;) {
    const oldest = sources.reduce<Source | null>((a, b) => (a === null || b.age < a.age ? b : a), null);
    if (oldest === null) return;
    if (oldest.head !== null) yield oldest.head;
    const next = await oldest.rest.next();
    if (next.done) sources.splice(sources.indexOf(oldest), 1);
    else {
      oldest.head = next.value;
      oldest.age = ageOf(next.value.fetch_id);
    }
  }
}

/** Ids differ by their first letter; behind it they sort by birth. */
function ageOf(id: string): string {
  return id.slice(1);
}

async function* sidecarRecords(
  folder: string,
  names: readonly string[],
  warn: WarnOfFile,
): AsyncGenerator<FetchRecord> {
  for (const name of names) {
    const record = recordIn(await readFile(path.join(folder, name), 'utf8'));
    // Its id is the file's name: under another one it would pass for a fetch that never was.
    if (record && `${record.fetch_id}${SIDECAR}` === name) yield record;
    else
      warn(`${path.join(folder, name)} is no fetch record, or is damaged, and is left out`, {
        file: path.join(folder, name),
      });
  }
}

/** Where the fetches are recorded whose answers lie in a pack; relative to what the pack's path is relative to. */
export function recordsOf(pack: string): string {
  const month = path.dirname(pack);
  const name = `${path.basename(pack, path.extname(pack))}${RUN_RECORDS}`;
  return path.join(path.dirname(path.dirname(month)), 'fetches', path.basename(month), name);
}

async function* runRecords(file: string, warn: WarnOfFile): AsyncGenerator<FetchRecord> {
  let line = 0;
  for await (const text of linesOf(file)) {
    line++;
    const record = recordIn(text);
    if (record) yield record;
    else warn(`${file}: line ${line} is torn or damaged and left out; what it recorded is asked again`, { file });
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 256 * 1024 })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Sorts as it passes: a record is handed on when DISORDER others have come behind it. */
async function* inOrder(records: AsyncIterable<FetchRecord>): AsyncGenerator<FetchRecord> {
  let held: FetchRecord[] = [];
  const sort = () => held.sort((a, b) => (a.fetch_id < b.fetch_id ? -1 : 1));
  for await (const record of records) {
    held.push(record);
    if (held.length < 2 * DISORDER) continue;
    sort();
    yield* held.slice(0, DISORDER);
    held = held.slice(DISORDER);
  }
  sort();
  yield* held;
}
