/**
 * The lake: one Parquet file a slice, and a manifest a month that says which file is the slice's content now.
 *
 *   lake/<pipeline>/<yyyy-mm>/<day>.<digest>.parquet           rows
 *   lake/<pipeline>/<yyyy-mm>/held/<day>.<digest>.parquet      rows of a held slice (apart, so that *.parquet is what counts)
 *   lake/<pipeline>/<yyyy-mm>/rejects/<day>.<digest>.parquet   rejects of a slice
 *   lake/<pipeline>/<yyyy-mm>/manifest.json
 *   lake/journal.json                                          only while a commit is under way
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

/** Under the folder of the lake. */
const LAKE_FILE = /^(?<pipeline>[a-z-]+)\/\d{4}-\d{2}\/(?:[a-z]+\/)?(?<day>\d{4}-\d{2}-\d{2})\.[^/]+$/;

export class Lake {
  private readonly root: string;
  private readonly cache = new Map<string, Map<Day, SliceEntry>>();
  /** Counted so that what was read while a commit went on is not kept. */
  private commits = 0;

  /** Manifests as they were last read, by file; null where they are not kept. */
  private readonly kept: Map<string, { readonly stamp: string; readonly manifest: MonthManifest }> | null;

  /** By which name people replay a pipeline. */
  private readonly wholeName: (pipeline: string) => string;

  constructor(root: string, { keepsMonths = false, wholeName = (name) => name }: LakeOptions = {}) {
    this.root = root;
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
    const journal = await readManifest(this.journalFile, journalSchema, journalHint(this.journalFile));
    if (!journal) return false;
    await this.apply(journal);
    this.forget([...this.cache.keys()]);
    return true;
  }

  /** A month whose manifest is missing or damaged is left as it is: its files may be all that is left to mend it with. */
  private async sweepLeftovers(): Promise<void> {
    for (const name of await readdir(this.root).catch(ignoreMissing)) {
      if (name.endsWith('.tmp')) await rm(path.join(this.root, name), { force: true });
      for (const month of await this.months(name)) {
        const manifest = await readManifest(this.manifestFile(name, month), monthManifest, '').catch(() => null);
        if (manifest) await sweep(this.folder(name, month), manifest);
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
      const file = this.manifestFile(pipeline, month);
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
      await rm(`${this.manifestFile(pipeline, month)}.damaged`, { force: true });
      await sweep(this.folder(pipeline, month), await this.month(pipeline, month));
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
  rowsFile(pipeline: string, entry: SliceEntry): string | null {
    return entry.file === null ? null : path.join(this.folder(pipeline, monthOf(entry.content.day)), entry.file);
  }

  rejectsFile(pipeline: string, entry: SliceEntry): string | null {
    const folder = this.folder(pipeline, monthOf(entry.content.day));
    return entry.rejects_file === null ? null : path.join(folder, 'rejects', entry.rejects_file);
  }

  /** Files of slices whose paths stand in a text, as in an error of whoever read them. */
  filesNamedIn(text: string): LakeFile[] {
    const found: LakeFile[] = [];
    for (const [at] of text.matchAll(/[^'"]+\.parquet/g)) {
      const named = LAKE_FILE.exec(path.relative(this.root, at))?.groups;
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
      await writeJson(this.journalFile, journal);
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
    const folder = this.folder(change.pipeline, monthOf(day));
    if (change.kind === 'replace') {
      const { file, rejects_file } = await place(folder, '', change.content, change.files);
      return { content: change.content, file, rejects_file, moved: false, held: null };
    }
    if (!before)
      throw new EtlError(
        'bug',
        'no_slice',
        `${change.pipeline} ${day}: ${change.kind} of a slice that the lake does not have`,
      );
    if (change.kind === 'amend') {
      const { file, rejects_file } = await place(folder, '', change.content, change.files);
      return { ...before, content: change.content, file, rejects_file, moved: true };
    }
    if (change.kind === 'respell') {
      const told = await place(folder, '', change.content, change.files);
      if (!change.held || !before.held) return { ...before, content: change.content, ...told };
      const held = await place(folder, 'held', change.held.content, change.held.files);
      return {
        ...before,
        content: change.content,
        ...told,
        held: { ...before.held, content: change.held.content, ...held },
      };
    }
    if (change.kind === 'confirm') return { ...before, moved: false, held: null };
    if (change.kind === 'hold') {
      const { file, rejects_file } = await place(folder, 'held', change.content, change.files);
      return { ...before, held: { content: change.content, file, rejects_file, ...change.hold } };
    }
    const { held } = before;
    if (!held)
      throw new EtlError('usage', 'not_held', `${change.pipeline} ${day} is not held`, {
        hint: 'see partner-etl status',
      });
    if (held.file) await link(path.join(folder, 'held', held.file), path.join(folder, held.file));
    return { content: held.content, file: held.file, rejects_file: held.rejects_file, moved: false, held: null };
  }

  private async apply(journal: Journal): Promise<void> {
    for (const [month, manifest] of Object.entries(journal.months))
      await writeJson(path.join(this.root, month, 'manifest.json'), manifest);
    await rm(this.journalFile, { force: true });
    await syncDir(this.root);
    for (const [month, manifest] of Object.entries(journal.months)) await sweep(path.join(this.root, month), manifest);
  }

  private async month(pipeline: string, month: string): Promise<MonthManifest> {
    const file = this.manifestFile(pipeline, month);
    // Before it is read: what is written in between is then read the next time.
    const stamp = this.kept && (await stampOf(file));
    const known = this.kept?.get(file);
    if (known && known.stamp === stamp) return known.manifest;
    const hint = replayHint(this.wholeName(pipeline), month);
    const manifest = (await readManifest(file, monthManifest, hint)) ?? { layout: LAYOUT, slices: {} };
    if (stamp !== null) this.kept?.set(file, { stamp, manifest });
    return manifest;
  }

  /** Months of a pipeline, oldest first; what else lies there is none of ours. */
  private async months(pipeline: string): Promise<string[]> {
    const names = await readdir(path.join(this.root, pipeline)).catch(ignoreMissing);
    return names.filter((name) => /^\d{4}-\d{2}$/.test(name)).sort();
  }

  private manifestFile(pipeline: string, month: string): string {
    return path.join(this.folder(pipeline, month), 'manifest.json');
  }

  private folder(pipeline: string, month: string): string {
    return path.join(this.root, pipeline, month);
  }

  private get journalFile(): string {
    return path.join(this.root, 'journal.json');
  }
}

/** Moves a slice's files to their names in the month's folder. */
async function place(folder: string, sub: string, content: SliceContent, files: SliceFiles) {
  const name = fileNameOf(content);
  if (files.file) await moveIntoPlace(files.file, path.join(folder, sub, name));
  if (files.rejectsFile) await moveIntoPlace(files.rejectsFile, path.join(folder, 'rejects', name));
  return { file: files.file ? name : null, rejects_file: files.rejectsFile ? name : null };
}

/** The held file stays until the manifest no longer names it, so that a crash in between loses nothing. */
async function link(from: string, to: string): Promise<void> {
  const beside = `${to}.tmp`;
  await copyFile(from, beside);
  await moveIntoPlace(beside, to);
}

/**
 * Removes files of a month that its manifest does not name: older contents, and leftovers of a crash. Not while a damaged manifest
 * lies aside: what it named may be all that is left.
 */
async function sweep(folder: string, manifest: MonthManifest): Promise<void> {
  if ((await readIfThere(path.join(folder, 'manifest.json.damaged'))) !== null) return;
  const entries = Object.values(manifest.slices);
  const held = entries.flatMap((e) => (e.held ? [e.held] : []));
  const keep: Record<string, Set<string | null>> = {
    '': new Set(entries.map((e) => e.file)),
    held: new Set(held.map((h) => h.file)),
    rejects: new Set([...entries, ...held].map((e) => e.rejects_file)),
  };
  for (const [sub, names] of Object.entries(keep)) {
    const files = await readdir(path.join(folder, sub)).catch(ignoreMissing);
    for (const file of files) {
      const isOurs = file.endsWith('.parquet') || file.endsWith('.tmp');
      if (isOurs && !names.has(file)) await rm(path.join(folder, sub, file), { force: true });
    }
  }
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
