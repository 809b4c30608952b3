/**
 * The lake: one Parquet file a slice, and a table of the state that says which file is the slice's content now. Where the files lie:
 * files.ts; what the table says: core/slices.ts.
 *
 * A commit changes any number of slices at once: first the files, under names that carry their content, so that nothing is
 * overwritten; then one transaction of the state, which makes them count; then files that no row names go. Cut off before the
 * transaction it leaves such files, cut off after it superseded ones: either go with the next commit to their month, or when the next
 * run begins.
 *
 * One writer at a time: whoever commits holds the run lock. Who reads sees what was committed last, and waits for nobody.
 */
import { type Day, monthOf } from '../core/days.ts';
import { assert, EtlError } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { SliceContent } from '../core/records.ts';
import type { HeldSlice, SliceEntry, Slices } from '../core/slices.ts';
import type { State } from '../store/state.ts';
import { type CheckedSlices, markChecked, type NamedEntry, readSlices, writeSlices } from '../store/tables/slices.ts';
import { fileNameOf, LakeFiles, parseFileName, TREES, type Tree } from './files.ts';

/** Files made elsewhere, by absolute path, that become part of the lake. They are moved, not copied. */
export interface SliceFiles {
  readonly file: string | null;
  readonly rejectsFile: string | null;
}

export type SliceChange =
  /** The slice has this content now. A hold on it ends. */
  | {
      readonly kind: 'replace';
      readonly pipeline: string;
      readonly content: SliceContent;
      readonly files: SliceFiles;
    }
  /** Items left the slice for another day: this is what is left, and the service is to be asked again. A hold on it stays. */
  | {
      readonly kind: 'amend';
      readonly pipeline: string;
      readonly content: SliceContent;
      readonly files: SliceFiles;
    }
  /** The content is kept back; what the slice held stays. */
  | {
      readonly kind: 'hold';
      readonly pipeline: string;
      readonly content: SliceContent;
      readonly files: SliceFiles;
      readonly hold: HoldWords;
    }
  /** What the slice says, or what is held of it, is spelled anew; nothing else of it changes. `held`: where something is. */
  | {
      readonly kind: 'respell';
      readonly pipeline: string;
      readonly content: SliceContent;
      readonly files: SliceFiles;
      readonly held: { readonly content: SliceContent; readonly files: SliceFiles } | null;
    }
  /** The service confirmed the current content: a hold on it ends, and a mark `moved` too. */
  | { readonly kind: 'confirm'; readonly pipeline: string; readonly day: Day }
  /** The held content becomes the slice's content. */
  | { readonly kind: 'release'; readonly pipeline: string; readonly day: Day };

export type HoldWords = Pick<HeldSlice, 'reason' | 'detail' | 'rows_before' | 'held_at'>;

export interface LakeOptions {
  /** The home directory. */
  readonly root: string;
  readonly state: State;
  /** Whose slices it holds. */
  readonly pipelines: readonly Pick<Pipeline, 'name' | 'table'>[];
}

/** A file of a slice: rows, rejects, or those of what is held. */
export interface LakeFile {
  readonly path: string;
  readonly pipeline: string;
  readonly day: Day;
}

const NO_SLICES: Slices = new Map();

export class Lake {
  private readonly files: LakeFiles;
  private readonly state: State;
  private readonly tables: ReadonlyMap<string, string>;
  /** What the table said when it was last read, with our own commits since. */
  private known: Promise<ReadonlyMap<string, Slices>> | null = null;

  constructor({ root, state, pipelines }: LakeOptions) {
    this.files = new LakeFiles(root);
    this.state = state;
    this.tables = new Map(pipelines.map(({ name, table }) => [name, table]));
  }

  /** Every slice of a pipeline, in the order of days. */
  async slices(pipeline: string): Promise<Slices> {
    return (await this.all()).get(pipeline) ?? NO_SLICES;
  }

  /** What was read is read again: somebody else may have committed since. */
  reread(): void {
    this.known = null;
  }

  private all(): Promise<ReadonlyMap<string, Slices>> {
    if (this.known) return this.known;
    const known = readSlices(this.state.db);
    this.known = known;
    known.catch(() => {
      if (this.known === known) this.known = null;
    });
    return known;
  }

  /** Absolute path of a slice's rows; null when it has none. */
  rowsFile({ file }: Pick<SliceEntry, 'file'>): string | null {
    return file && this.files.at(file);
  }

  rejectsFile({ rejects_file: file }: Pick<SliceEntry, 'rejects_file'>): string | null {
    return file && this.files.at(file);
  }

  /** The files of what is held of a slice, by absolute path. */
  heldFiles(held: HeldSlice): SliceFiles {
    return { file: this.rowsFile(held), rejectsFile: this.rejectsFile(held) };
  }

  /** Files of slices whose paths stand in a text, as in an error of whoever read them. */
  filesNamedIn(text: string): LakeFile[] {
    const found: LakeFile[] = [];
    for (const [at] of text.matchAll(/[^'"]+\.parquet/g)) {
      const named = parseFileName(this.files.nameOf(at));
      const pipeline = [...this.tables].find(([, table]) => table === named?.table)?.[0];
      if (named && pipeline !== undefined) found.push({ path: at, pipeline, day: named.day });
    }
    return found;
  }

  /**
   * Makes all changes true at once, with the answer that they stand on where it is one. Files named in them are in the lake
   * afterwards and gone from where they lay.
   */
  async commit(changes: readonly SliceChange[], checked: CheckedSlices | null = null): Promise<void> {
    if (changes.length === 0 && checked === null) return;
    const before = await this.all();
    const changed = new Map<string, NamedEntry>();
    for (const change of changes) {
      const { pipeline } = change;
      const day = 'content' in change ? change.content.day : change.day;
      const name = `${pipeline} ${day}`;
      const now = changed.get(name)?.entry ?? before.get(pipeline)?.get(day);
      changed.set(name, { pipeline, entry: await this.changed(change, day, now) });
    }
    const entries = [...changed.values()];
    // What lost an item in this very commit is not what the answer said.
    const days = checked?.days.filter((day) => changed.get(`${checked.pipeline} ${day}`)?.entry.moved !== true) ?? [];
    const marks = checked && { ...checked, days };
    this.reread(); // whether the transaction has come to pass is not known where it fails
    await this.state.write(async (tx) => {
      await writeSlices(tx, entries);
      if (marks) await markChecked(tx, marks);
    });
    const after = withMarks(withEntries(before, entries), marks);
    this.known = Promise.resolve(after);
    const months = new Set(entries.map(({ pipeline, entry }) => `${pipeline} ${monthOf(entry.content.day)}`));
    for (const month of months) await this.sweepMonth(after, month);
  }

  /**
   * Removes what a commit left that was cut off: whoever reads all files of a table would count it. Call it under the run lock. A month
   * of which the table knows nothing is left as it is: its files may be all that there is.
   */
  async sweep(): Promise<void> {
    const all = await this.all();
    const months = [...this.tables.keys()].flatMap((pipeline) =>
      [...(all.get(pipeline) ?? NO_SLICES).keys()].map((day) => `${pipeline} ${monthOf(day)}`),
    );
    for (const month of new Set(months)) await this.sweepMonth(all, month);
  }

  /** Removes the files of a month that no row names. */
  private async sweepMonth(all: ReadonlyMap<string, Slices>, name: string): Promise<void> {
    const [pipeline = '', month = ''] = name.split(' ');
    const entries = [...(all.get(pipeline) ?? NO_SLICES).values()];
    const named = new Set(
      entries.flatMap((entry) => [entry, entry.held ?? NO_FILES].flatMap((one) => [one.file, one.rejects_file])),
    );
    for (const tree of TREES)
      for (const file of await this.files.list(tree, this.tableOf(pipeline), month))
        if (!named.has(file)) await this.files.delete(file);
  }

  private async changed(change: SliceChange, day: Day, before: SliceEntry | undefined): Promise<SliceEntry> {
    const { pipeline } = change;
    if (change.kind === 'replace') {
      const placed = await this.place('lake', pipeline, change.content, change.files);
      return { content: change.content, ...placed, moved: false, held: null, checked: null };
    }
    if (!before)
      throw new EtlError(
        'bug',
        'no_slice',
        `${pipeline} ${day}: ${change.kind} of a slice that the lake does not have`,
      );
    if (change.kind === 'amend') {
      const placed = await this.place('lake', pipeline, change.content, change.files);
      return { ...before, content: change.content, ...placed, moved: true, checked: null };
    }
    if (change.kind === 'respell') {
      const current = await this.place('lake', pipeline, change.content, change.files);
      if (!change.held || !before.held) return { ...before, content: change.content, ...current };
      const placed = await this.place('held', pipeline, change.held.content, change.held.files);
      const held = { ...before.held, content: change.held.content, ...placed };
      return { ...before, content: change.content, ...current, held };
    }
    if (change.kind === 'confirm') return { ...before, moved: false, held: null };
    if (change.kind === 'hold') {
      const placed = await this.place('held', pipeline, change.content, change.files);
      return { ...before, held: { content: change.content, ...placed, ...change.hold }, checked: null };
    }
    return this.released(pipeline, day, before);
  }

  /** The held file stays until the table no longer names it, so that a crash in between loses nothing. */
  private async released(pipeline: string, day: Day, { held, checked }: SliceEntry): Promise<SliceEntry> {
    if (!held)
      throw new EtlError('usage', 'not_held', `${pipeline} ${day} is not held`, {
        hint: 'see partner-etl status',
      });
    const { content, rejects_file } = held;
    const file = held.file && fileNameOf('lake', this.tableOf(pipeline), content);
    if (held.file && file) await this.files.copy(held.file, file);
    return { content, file, rejects_file, moved: false, held: null, checked };
  }

  /** Moves a slice's files to their names in the lake. */
  private async place(tree: 'lake' | 'held', pipeline: string, content: SliceContent, files: SliceFiles) {
    const put = async (from: string | null, into: Tree) => {
      const file = from && fileNameOf(into, this.tableOf(pipeline), content);
      if (from && file) await this.files.put(from, file);
      return file;
    };
    return { file: await put(files.file, tree), rejects_file: await put(files.rejectsFile, 'rejects') };
  }

  private tableOf(pipeline: string): string {
    const table = this.tables.get(pipeline);
    assert(table !== undefined, `the lake holds no slices of ${pipeline}`);
    return table;
  }
}

const NO_FILES = { file: null, rejects_file: null };

/** What was read before stays as it was for who has it. */
function withEntries(before: ReadonlyMap<string, Slices>, entries: readonly NamedEntry[]): ReadonlyMap<string, Slices> {
  const after = new Map(before);
  for (const pipeline of new Set(entries.map((one) => one.pipeline))) {
    const own = entries
      .filter((one) => one.pipeline === pipeline)
      .map(({ entry }) => [entry.content.day, entry] as const);
    const slices = [...new Map([...(before.get(pipeline) ?? []), ...own])];
    after.set(pipeline, new Map(slices.sort(([a], [b]) => (a < b ? -1 : 1))));
  }
  return after;
}

function withMarks(before: ReadonlyMap<string, Slices>, marks: CheckedSlices | null): ReadonlyMap<string, Slices> {
  const slices = marks && before.get(marks.pipeline);
  if (!slices) return before;
  const marked = marks.days.flatMap((day) => {
    const entry = slices.get(day);
    return entry ? [{ pipeline: marks.pipeline, entry: { ...entry, checked: marks.by } }] : [];
  });
  return withEntries(before, marked);
}
