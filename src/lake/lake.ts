/**
 * The lake: one Parquet file a slice, and a manifest a month that says which file is the slice's content now. Where they lie: places.ts.
 *
 * A commit changes any number of slices at once: files first (under names that carry their content, so nothing is
 * overwritten), then the journal with the new manifests, then the manifests, then the journal goes, then files that no
 * manifest names. Before the journal a crash leaves unnamed files, which the next run removes; after it the next run carries the commit through.
 * A manifest a month keeps both costs small: some 30 KB to write a slice, 36 files to read three years.
 *
 * One writer at a time: whoever commits holds the run lock.
 */
import { copyFile, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import { type Day, type DayRange, monthOf, parseDay } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import type { SliceContent } from '../core/records.ts';
import { moveIntoPlace, readIfThere, syncDir, writeJson } from '../disk/atomic.ts';
import { DAMAGED, journalHint, readManifest, replayHint } from './damage.ts';
import {
  fileNameOf,
  type HeldSlice,
  type Journal,
  journalSchema,
  LAYOUT,
  type MonthManifest,
  monthManifest,
  type SliceEntry,
} from './entries.ts';
import { type LakeFolders, LakePlaces, TREES, type Tree } from './places.ts';

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

/** Manifests read at a time: thirty years are 360 of them, and open files are limited. */
const FILES_AT_ONCE = 16;

export interface LakeOptions {
  /** For who reads again and again what others write; after `reread` only months that were written since are read. */
  readonly keepsMonths?: boolean;
  /** By which name people replay a pipeline, for the mend of what is damaged; its own unless told. */
  readonly wholeName?: (pipeline: string) => string;
}

/** A file of a slice: rows, rejects, or those of what is held. */
export interface LakeFile {
  readonly path: string;
  readonly pipeline: string;
  readonly day: Day;
}

/** Under one of the folders that hold Parquet files. */
const LAKE_FILE = /^(?<pipeline>[a-z-]+)\/\d{4}-\d{2}\/(?<day>\d{4}-\d{2}-\d{2})\.[^/]+$/;

export class Lake {
  private readonly places: LakePlaces;
  private readonly cache = new Map<string, Map<Day, SliceEntry>>();
  /** Counted so that what was read while a commit went on is not kept. */
  private commits = 0;

  /** Manifests as they were last read, by file; null where they are not kept. */
  private readonly kept: Map<string, { readonly stamp: string; readonly manifest: MonthManifest }> | null;

  /** By which name people replay a pipeline. */
  private readonly wholeName: (pipeline: string) => string;

  constructor(folders: LakeFolders, { keepsMonths = false, wholeName = (name) => name }: LakeOptions = {}) {
    this.places = new LakePlaces(folders);
    this.kept = keepsMonths ? new Map() : null;
    this.wholeName = wholeName;
  }

  /**
   * Carries through a commit that was cut off, and removes files of one that did not come as far as its journal: whoever reads
   * all Parquet files of a month would count them. Call it under the run lock, before anything is read.
   * `isClean`: the last writer ended in good order, so there are no such files and the months need not be looked through.
   */
  async recover(isClean = false): Promise<boolean> {
    const wasCutOff = await this.finishCommit();
    if (wasCutOff || !isClean) await this.sweepLeftovers();
    return wasCutOff;
  }

  private async finishCommit(): Promise<boolean> {
    const file = this.places.journal;
    const journal = await readManifest(file, journalSchema, journalHint(file));
    if (!journal) return false;
    await this.apply(journal);
    this.forget([...this.cache.keys()]);
    return true;
  }

  /** A month whose manifest is missing or damaged is left as it is: its files may be all that is left to mend it with. */
  private async sweepLeftovers(): Promise<void> {
    await removeUnfinished(this.places.manifests());
    for (const name of await readdir(this.places.manifests()).catch(ignoreMissing)) {
      await removeUnfinished(this.places.manifests(name));
      for (const month of await this.months(name)) {
        const manifest = await readManifest(this.places.manifest(name, month), monthManifest, '').catch(() => null);
        if (manifest) await this.sweep(name, month, manifest);
      }
    }
  }

  /**
   * Renames damaged manifests of the months of the range; returns the months of which one lies aside. Their slices count as
   * missing, and their files stay until the month is committed to. Under the run lock.
   */
  async setAsideDamaged(pipeline: string, range: DayRange): Promise<string[]> {
    const months = (await this.months(pipeline)).filter((month) => isWithin(month, range));
    const aside: string[] = [];
    for (const month of months) {
      const file = this.places.manifest(pipeline, month);
      try {
        await this.month(pipeline, month);
      } catch (thrown) {
        if (!(thrown instanceof EtlError) || thrown.code !== DAMAGED) throw thrown;
        await rename(file, `${file}.damaged`);
      }
      if ((await readIfThere(`${file}.damaged`)) !== null) aside.push(month);
    }
    this.reread();
    return aside;
  }

  /** Removes what was set aside, and the files that the new manifests do not name. */
  async dropDamaged(pipeline: string, range: DayRange): Promise<void> {
    for (const month of (await this.months(pipeline)).filter((one) => isWithin(one, range))) {
      await rm(`${this.places.manifest(pipeline, month)}.damaged`, { force: true });
      await this.sweep(pipeline, month, await this.month(pipeline, month));
    }
  }

  /** What was read is read again: somebody else may have committed since. */
  reread(): void {
    this.forget([...this.cache.keys()]);
  }

  /** Every slice of a pipeline, in the order of days. Damaged manifests are refused by name. */
  async slices(pipeline: string): Promise<ReadonlyMap<Day, SliceEntry>> {
    const known = this.cache.get(pipeline);
    if (known) return known;
    const months = await this.months(pipeline);
    const { commits } = this;
    const few = pLimit(FILES_AT_ONCE);
    const manifests = await Promise.all(months.map((month) => few(() => this.month(pipeline, month))));
    const slices = new Map(manifests.flatMap((m) => Object.entries(m.slices)).sort(byDay) as [Day, SliceEntry][]);
    if (commits === this.commits) this.cache.set(pipeline, slices);
    return slices;
  }

  /** Absolute path of a slice's rows; null when it has none. */
  rowsFile(pipeline: string, { content, file }: SliceEntry): string | null {
    return file && path.join(this.places.folder('lake', pipeline, monthOf(content.day)), file);
  }

  rejectsFile(pipeline: string, { content, rejects_file: file }: Pick<SliceEntry, 'content' | 'rejects_file'>) {
    return file && path.join(this.places.folder('rejects', pipeline, monthOf(content.day)), file);
  }

  /** What is held of a slice, with its files by absolute path. */
  heldFiles(pipeline: string, held: HeldSlice): SliceFiles {
    const folder = this.places.folder('held', pipeline, monthOf(held.content.day));
    return { file: held.file && path.join(folder, held.file), rejectsFile: this.rejectsFile(pipeline, held) };
  }

  /** Files of slices whose paths stand in a text, as in an error of whoever read them. */
  filesNamedIn(text: string): LakeFile[] {
    const found: LakeFile[] = [];
    for (const [at] of text.matchAll(/[^'"]+\.parquet/g)) {
      const named = LAKE_FILE.exec(this.places.nameOf(at) ?? '')?.groups;
      if (named) found.push({ path: at, pipeline: named.pipeline!, day: parseDay(named.day!) });
    }
    return found;
  }

  /** Makes all changes true at once. Files named in them are in the lake afterwards and gone from where they lay. */
  async commit(changes: readonly SliceChange[]): Promise<void> {
    if (changes.length === 0) return;
    await this.finishCommit(); // an earlier one that failed half way, and whose journal this one would overwrite
    const months: Record<string, MonthManifest> = {};
    for (const change of changes) {
      const day = 'content' in change ? change.content.day : change.day;
      const name = path.join(change.pipeline, monthOf(day));
      const manifest = months[name] ?? (await this.month(change.pipeline, monthOf(day)));
      const entry = await this.changed(change, day, manifest.slices[day]);
      months[name] = { layout: LAYOUT, slices: { ...manifest.slices, [day]: entry } };
    }
    const journal: Journal = { layout: LAYOUT, months };
    try {
      await writeJson(this.places.journal, journal);
      await this.apply(journal);
    } catch (error) {
      this.reread();
      throw error;
    }
    this.renew(months);
  }

  /** Whoever has a map of slices keeps it; who asks next gets one with the new entries, without reading every month again. */
  private renew(months: Journal['months']): void {
    this.commits += 1;
    for (const [name, { slices }] of Object.entries(months)) {
      const known = this.cache.get(path.dirname(name));
      if (!known) continue;
      const entries = new Map([...known, ...(Object.entries(slices) as [Day, SliceEntry][])]);
      this.cache.set(path.dirname(name), new Map([...entries].sort(byDay)));
    }
  }

  private forget(pipelines: readonly string[]): void {
    this.commits += 1;
    for (const pipeline of pipelines) this.cache.delete(pipeline);
  }

  private async changed(change: SliceChange, day: Day, before: SliceEntry | undefined): Promise<SliceEntry> {
    const { pipeline } = change;
    if (change.kind === 'replace') {
      const { file, rejects_file } = await this.place('lake', pipeline, change.content, change.files);
      return { content: change.content, file, rejects_file, moved: false, held: null };
    }
    if (!before)
      throw new EtlError(
        'bug',
        'no_slice',
        `${pipeline} ${day}: ${change.kind} of a slice that the lake does not have`,
      );
    if (change.kind === 'amend') {
      const { file, rejects_file } = await this.place('lake', pipeline, change.content, change.files);
      return { ...before, content: change.content, file, rejects_file, moved: true };
    }
    if (change.kind === 'respell') {
      const told = await this.place('lake', pipeline, change.content, change.files);
      if (!change.held || !before.held) return { ...before, content: change.content, ...told };
      const held = await this.place('held', pipeline, change.held.content, change.held.files);
      return {
        ...before,
        content: change.content,
        ...told,
        held: { ...before.held, content: change.held.content, ...held },
      };
    }
    if (change.kind === 'confirm') return { ...before, moved: false, held: null };
    if (change.kind === 'hold') {
      const { file, rejects_file } = await this.place('held', pipeline, change.content, change.files);
      return { ...before, held: { content: change.content, file, rejects_file, ...change.hold } };
    }
    const { held } = before;
    if (!held)
      throw new EtlError('usage', 'not_held', `${pipeline} ${day} is not held`, {
        hint: 'see partner-etl status',
      });
    if (held.file) await this.copyHeld(pipeline, monthOf(day), held.file);
    return { content: held.content, file: held.file, rejects_file: held.rejects_file, moved: false, held: null };
  }

  private async apply(journal: Journal): Promise<void> {
    const months = Object.entries(journal.months).map(([name, manifest]) => ({
      pipeline: path.dirname(name),
      month: path.basename(name),
      manifest,
    }));
    for (const { pipeline, month, manifest } of months)
      await writeJson(this.places.manifest(pipeline, month), manifest);
    await rm(this.places.journal, { force: true });
    await syncDir(this.places.manifests());
    for (const { pipeline, month, manifest } of months) await this.sweep(pipeline, month, manifest);
  }

  /** Moves a slice's files to their names in the month's folders. */
  private async place(tree: 'lake' | 'held', pipeline: string, content: SliceContent, files: SliceFiles) {
    const name = fileNameOf(content);
    const at = (one: Tree) => path.join(this.places.folder(one, pipeline, monthOf(content.day)), name);
    if (files.file) await moveIntoPlace(files.file, at(tree));
    if (files.rejectsFile) await moveIntoPlace(files.rejectsFile, at('rejects'));
    return { file: files.file ? name : null, rejects_file: files.rejectsFile ? name : null };
  }

  /** The held file stays until the manifest no longer names it, so that a crash in between loses nothing. Half a copy never lies in the table. */
  private async copyHeld(pipeline: string, month: string, file: string): Promise<void> {
    const held = path.join(this.places.folder('held', pipeline, month), file);
    await copyFile(held, `${held}.tmp`);
    await moveIntoPlace(`${held}.tmp`, path.join(this.places.folder('lake', pipeline, month), file));
  }

  /**
   * Removes files of a month that its manifest does not name: older contents, and leftovers of a crash. Not while a damaged manifest
   * lies aside: what it named may be all that is left.
   */
  private async sweep(pipeline: string, month: string, manifest: MonthManifest): Promise<void> {
    if ((await readIfThere(`${this.places.manifest(pipeline, month)}.damaged`)) !== null) return;
    const entries = Object.values(manifest.slices);
    const held = entries.flatMap((e) => (e.held ? [e.held] : []));
    const keep: Record<Tree, Set<string | null>> = {
      lake: new Set(entries.map((e) => e.file)),
      held: new Set(held.map((h) => h.file)),
      rejects: new Set([...entries, ...held].map((e) => e.rejects_file)),
    };
    for (const tree of TREES) {
      const folder = this.places.folder(tree, pipeline, month);
      for (const file of await readdir(folder).catch(ignoreMissing)) {
        const isOurs = file.endsWith('.parquet') || file.endsWith('.tmp');
        if (isOurs && !keep[tree].has(file)) await rm(path.join(folder, file), { force: true });
      }
    }
  }

  private async month(pipeline: string, month: string): Promise<MonthManifest> {
    const file = this.places.manifest(pipeline, month);
    // Before it is read: what is written in between is then read the next time.
    const stamp = this.kept && (await stampOf(file));
    const known = this.kept?.get(file);
    if (known && known.stamp === stamp) return known.manifest;
    const hint = replayHint(this.wholeName(pipeline), month);
    const manifest = (await readManifest(file, monthManifest, hint)) ?? { layout: LAYOUT, slices: {} };
    if (stamp !== null) this.kept?.set(file, { stamp, manifest });
    return manifest;
  }

  /** Months of a pipeline, oldest first, also those whose manifest lies aside; what else lies there is none of ours. */
  private async months(pipeline: string): Promise<string[]> {
    const names = await readdir(this.places.manifests(pipeline)).catch(ignoreMissing);
    const months = names.flatMap((name) => /^(\d{4}-\d{2})\.json(\.damaged)?$/.exec(name)?.[1] ?? []);
    return [...new Set(months)].sort();
  }
}

/** What a crash left of files that were about to be renamed into place. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(ignoreMissing))
    if (name.endsWith('.tmp')) await rm(path.join(folder, name), { force: true });
}

/** Manifests are replaced, never changed in their place: another content is another file. */
async function stampOf(file: string): Promise<string> {
  try {
    const { ino, mtimeNs, size } = await stat(file, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch (error) {
    ignoreMissing(error as NodeJS.ErrnoException);
    return 'none';
  }
}

function byDay(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

function isWithin(month: string, { from, to }: DayRange): boolean {
  return from.slice(0, 7) <= month && month <= to.slice(0, 7);
}

function ignoreMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
