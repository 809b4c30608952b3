/**
 * The lake's table made again from the files of the lake, when the state is lost, or was restored from a backup that is older than
 * they are. The name of a file says day and digest; what the slice amounts to is computed from its rows and proved by the digest.
 *
 * Not in the files, and therefore not found: days without rows and rejects, when slices were checked last, and why something was held.
 * A row whose files are gone, with none in their place, tells of a content that was superseded or lost: it goes. Such days are asked for
 * again, as the plan asks for any day that is missing or due. Run it under the run lock, before any sweep.
 */
import { isoTime } from '../core/clock.ts';
import type { Day } from '../core/days.ts';
import { bornMs } from '../core/ids.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import type { HeldSlice, SliceEntry, Slices } from '../core/slices.ts';
import { emptySlice } from '../engine/content.ts';
import { type Engine, quoteFile, readParquet } from '../engine/duckdb.ts';
import { measureSlice } from '../engine/measure.ts';
import type { State } from '../store/state.ts';
import { forgetSlices, type NamedEntry, readSlices, writeSlices } from '../store/tables/slices.ts';
import { digestInName, LakeFiles, parseFileName, TREES, type Tree } from './files.ts';

export interface RecoverInput {
  /** The home directory. */
  readonly root: string;
  readonly state: State;
  readonly engine: Engine;
  readonly pipelines: readonly Pipeline[];
}

export interface Recovered {
  /** Slices that the table did not have, or not as the files have them. */
  readonly slices: readonly NamedDay[];
  /** Slices that the table had, and whose files are gone. */
  readonly lost: readonly NamedDay[];
  /** Files that cannot be read, or hold something else than their name says: left where they lie. */
  readonly unproved: readonly string[];
}

interface NamedDay {
  readonly pipeline: string;
  readonly day: Day;
}

/** What lies in the trees for one day: paths under the home directory, by the digest in their names. */
type DayFiles = Readonly<Record<Tree, Map<string, string>>>;

/** A content that its digest has proved, with its files. */
type Proved = Pick<SliceEntry, 'content' | 'file' | 'rejects_file'>;

export async function recoverSlices(input: RecoverInput): Promise<Recovered> {
  const known = await readSlices(input.state.db);
  const slices: NamedDay[] = [];
  const lost: NamedDay[] = [];
  const unproved: string[] = [];
  for (const pipeline of input.pipelines) {
    const search = new Search(input, pipeline);
    const { found, gone } = await search.changes(known.get(pipeline.name) ?? new Map());
    await input.state.write(async (tx) => {
      await forgetSlices(tx, pipeline.name, gone);
      await writeSlices(tx, found);
    });
    slices.push(...found.map(({ entry }) => ({ pipeline: pipeline.name, day: entry.content.day })));
    lost.push(...gone.map((day) => ({ pipeline: pipeline.name, day })));
    unproved.push(...search.unproved);
  }
  return { slices, lost, unproved };
}

class Search {
  readonly unproved: string[] = [];
  private readonly engine: Engine;
  private readonly files: LakeFiles;
  private readonly pipeline: Pipeline;

  constructor({ root, engine }: RecoverInput, pipeline: Pipeline) {
    this.engine = engine;
    this.files = new LakeFiles(root);
    this.pipeline = pipeline;
  }

  /** The slices that the files have and the table has not, and those of which it is the other way round. */
  async changes(known: Slices): Promise<{ readonly found: readonly NamedEntry[]; readonly gone: readonly Day[] }> {
    const found: NamedEntry[] = [];
    const gone: Day[] = [];
    const lying = await this.filesByDay();
    for (const day of new Set([...known.keys(), ...lying.keys()])) {
      const row = known.get(day);
      const files = lying.get(day) ?? noFiles();
      const isComplete = row !== undefined && isThere(row, files);
      const isEmpty = row !== undefined && (row.file ?? row.rejects_file) === null;
      if (isComplete && !isEmpty) continue;
      const entry = await this.entryOn(day, files);
      // An empty day has no file: it is older than one that came later, and newer than one that a crash has left.
      const isNews = !row || !isEmpty || (entry !== null && entry.content.fetch_id > row.content.fetch_id);
      if (entry && isNews) found.push({ pipeline: this.pipeline.name, entry });
      else if (row && !isComplete) gone.push(day);
    }
    return { found, gone };
  }

  private async filesByDay(): Promise<Map<Day, DayFiles>> {
    const days = new Map<Day, DayFiles>();
    for (const tree of TREES)
      for (const file of await this.files.listAll(tree, this.pipeline.table)) {
        const named = parseFileName(file);
        if (!named) continue;
        const files = days.get(named.day) ?? noFiles();
        files[tree].set(named.digest, file);
        days.set(named.day, files);
      }
    return days;
  }

  /** Of several contents, which a crash between files and table leaves, the newest counts, and the service is asked again. */
  private async entryOn(day: Day, { lake, held, rejects }: DayFiles): Promise<SliceEntry | null> {
    const own = [...new Set([...lake.keys(), ...rejects.keys()])].filter(
      (digest) => lake.has(digest) || !held.has(digest),
    );
    const contents: Proved[] = [];
    for (const digest of own) contents.push(...(await this.proved(day, digest, lake.get(digest), rejects.get(digest))));
    const kept: Proved[] = [];
    for (const digest of held.keys())
      if (!lake.has(digest)) kept.push(...(await this.proved(day, digest, held.get(digest), rejects.get(digest))));
    const hold = newest(kept);
    const slice = newest(contents) ?? (hold && this.emptyUnder(hold));
    if (!slice) return null;
    return { ...slice, moved: own.length > 1, held: hold && heldOver(slice, hold), checked: null };
  }

  private emptyUnder({ content: { day, fetch_id, fetched_at } }: Proved): Proved {
    return { content: emptySlice(this.pipeline, { day, fetch_id, fetched_at }), file: null, rejects_file: null };
  }

  /** The content of these files, or nothing where they are not what their name says. */
  private async proved(
    day: Day,
    digest: string,
    file: string | null = null,
    rejects: string | null = null,
  ): Promise<Proved[]> {
    try {
      const content = await this.contentOf(day, file && this.files.at(file), rejects && this.files.at(rejects));
      if (content && digestInName(content.digest) === digest) return [{ content, file, rejects_file: rejects }];
    } catch {
      // It cannot be read.
    }
    this.unproved.push(...[file, rejects].flatMap((one) => one ?? []));
    return [];
  }

  /** Null for a file of another version of the pipeline: its digest cannot be computed any more, and the plan asks for its day. */
  private async contentOf(day: Day, file: string | null, rejectsFile: string | null): Promise<SliceContent | null> {
    const { engine, pipeline } = this;
    const noted = file === null ? new Map<string, string>() : await metadataOf(engine, file);
    const version = Number(noted.get('version') ?? pipeline.version);
    if (version !== pipeline.version) return null;
    const rows = file && readParquet([file]);
    const measured = await measureSlice(engine, pipeline, rows, rejectsFile);
    const refused = rejectsFile && `SELECT count(*) AS n, max(fetch_id) AS id FROM ${readParquet([rejectsFile])}`;
    const { n, id } = refused ? await engine.row(refused) : { n: 0, id: '' };
    const fetch_id = noted.get('fetch_id') ?? String(id);
    return {
      ...measured,
      day,
      rejects: Number(n),
      duplicates: Number(noted.get('duplicates') ?? 0),
      version,
      fetch_id,
      fetched_at: noted.get('fetched_at') ?? timeOf(fetch_id, day),
    };
  }
}

function noFiles(): DayFiles {
  return { lake: new Map(), held: new Map(), rejects: new Map() };
}

/** Whether the files of a row lie where it says. */
function isThere({ file, rejects_file, held }: SliceEntry, files: DayFiles): boolean {
  const there = new Set(TREES.flatMap((tree) => [...files[tree].values()]));
  const named = [file, rejects_file, held?.file ?? null, held?.rejects_file ?? null];
  return named.every((one) => one === null || there.has(one));
}

/** The latest answer; of one that lost rows to another day, what was left of it. */
function newest(contents: readonly Proved[]): Proved | null {
  const isNewer = ({ content: a }: Proved, { content: b }: Proved) =>
    a.fetch_id === b.fetch_id ? a.rows < b.rows : a.fetch_id > b.fetch_id;
  return contents.reduce<Proved | null>((best, one) => (best === null || isNewer(one, best) ? one : best), null);
}

function heldOver({ content: before }: Proved, held: Proved): HeldSlice {
  const { rows, fetched_at: held_at } = held.content;
  const detail = `${before.rows} rows before, ${rows} now; found again without the reason`;
  return { ...held, reason: rows === 0 ? 'emptied' : 'shrunk', detail, rows_before: before.rows, held_at };
}

/** What the file says of itself, without the prefix of our names. */
async function metadataOf(engine: Engine, file: string): Promise<Map<string, string>> {
  const rows = await engine.rows(
    `SELECT decode(key) AS name, decode(value) AS value FROM parquet_kv_metadata(${quoteFile(file)})`,
  );
  return new Map(rows.map(({ name, value }) => [String(name).replace(/^partner_etl\./, ''), String(value)]));
}

/** About when a fetch was made. */
function timeOf(fetchId: string, day: Day): string {
  const ms = bornMs(fetchId);
  return Number.isNaN(ms) ? `${day}T00:00:00.000Z` : isoTime(ms);
}
