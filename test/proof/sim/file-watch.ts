/**
 * Every change that the program makes to files, as it goes through node:fs/promises: counted as a crash point before and behind it, and
 * for a power cut noted in a file that survives the process, together with what a power cut could bring back.
 *
 * To be called before the program is imported: what it imports from node:fs/promises is then ours.
 */
import { existsSync, fstatSync, linkSync, promises, statSync, writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import type { CrashPoints } from './crash-points.ts';

/** What was done to a file whose content is `ino`; `old`: where what it replaced is kept. */
export type FileNote =
  | { readonly op: 'create'; readonly path: string; readonly ino: string }
  | { readonly op: 'link'; readonly path: string; readonly ino: string }
  | { readonly op: 'write'; readonly path: string; readonly ino: string }
  | { readonly op: 'sync'; readonly path: string; readonly ino: string; readonly bytes: number }
  | { readonly op: 'sync-dir'; readonly path: string }
  | {
      readonly op: 'rename';
      readonly path: string;
      readonly from: string;
      readonly ino: string;
      readonly old: string | null;
    }
  | { readonly op: 'remove'; readonly path: string; readonly old: string };

/** An inode is used again, so its birth belongs to its name. */
export function identity({ ino, birthtimeMs }: { readonly ino: number; readonly birthtimeMs: number }): string {
  return `${ino} ${birthtimeMs}`;
}

type Work = (...args: never[]) => Promise<unknown>;
type Anything = Record<string, Work>;

/** Where notes are written, and of which folder they are. */
export interface Noting {
  readonly descriptor: number;
  readonly home: string;
  /** Keeps what was replaced or removed, on the same file system. */
  readonly attic: string;
}

export class FileWatch {
  private readonly points: CrashPoints;
  private noting: Noting | null = null;
  private readonly paths = new WeakMap<FileHandle, string>();
  private kept = 0;
  /** By the name that it had, where what is about to be replaced or removed is kept. */
  private readonly olds = new Map<string, string>();

  constructor(points: CrashPoints) {
    this.points = points;
  }

  note(noting: Noting | null): void {
    this.noting = noting;
  }

  async install(): Promise<void> {
    const fs = promises as unknown as Anything;
    this.wrapOpen(fs);
    const sample = await promises.open(process.execPath, 'r');
    this.wrapHandles(Object.getPrototypeOf(sample) as Anything);
    await sample.close();
    this.wrap(fs, 'rename', { before: (from, to) => this.keep(to, from), after: (from, to) => this.renamed(from, to) });
    for (const name of ['rm', 'unlink'])
      this.wrap(fs, name, { before: (file) => this.keep(file, null), after: (file) => this.removed(file) });
    for (const name of ['writeFile', 'appendFile', 'truncate'])
      this.wrap(fs, name, { after: (file) => this.changed('write', file) });
    this.wrap(fs, 'copyFile', { after: (_from, to) => this.changed('create', to) });
    this.wrap(fs, 'link', { after: (_from, to) => this.changed('link', to) });
    for (const name of ['mkdir', 'utimes']) this.wrap(fs, name, {});
    syncBuiltinESMExports();
  }

  private wrap(
    owner: Anything,
    name: string,
    around: { readonly before?: (...paths: string[]) => void; readonly after?: (...paths: string[]) => void },
  ): void {
    const original = owner[name]!;
    const watch = this;
    owner[name] = async function (this: unknown, ...args: never[]) {
      const [file, other] = args as unknown as string[];
      const what = `${name} ${watch.short(file)}`;
      watch.points.pass('file', `before ${what}`);
      around.before?.(file!, other!);
      const result = await original.apply(this, args);
      around.after?.(file!, other!);
      watch.points.pass('file', `after ${what}`);
      return result;
    };
  }

  private wrapOpen(fs: Anything): void {
    const original = fs.open!;
    const watch = this;
    fs.open = async function (this: unknown, ...args: never[]) {
      const [file, flags = 'r'] = args as unknown as [string, string | number];
      const writes = typeof flags === 'string' && /^[wa]/.test(flags);
      if (writes) watch.points.pass('file', `before open ${watch.short(file)}`);
      const isNew = writes && !existsSync(file);
      const handle = (await original.apply(this, args)) as FileHandle;
      watch.paths.set(handle, file);
      if (writes) watch.changed(isNew ? 'create' : 'write', file);
      return handle;
    };
  }

  private wrapHandles(prototype: Anything): void {
    const watch = this;
    for (const name of ['write', 'writev', 'writeFile', 'appendFile', 'truncate', 'sync', 'datasync']) {
      const original = prototype[name]!;
      prototype[name] = async function (this: FileHandle, ...args: never[]) {
        const file = watch.paths.get(this) ?? '?';
        const what = `${name} ${watch.short(file)}`;
        watch.points.pass('file', `before ${what}`);
        const result = await original.apply(this, args);
        watch.handled(this, file, name.endsWith('sync'));
        watch.points.pass('file', `after ${what}`);
        return result;
      };
    }
  }

  private handled(handle: FileHandle, file: string, isSync: boolean): void {
    if (!this.isNoted(file)) return;
    const stats = fstatSync(handle.fd);
    if (stats.isDirectory()) this.write({ op: 'sync-dir', path: file });
    else if (isSync) this.write({ op: 'sync', path: file, ino: identity(stats), bytes: stats.size });
    else this.write({ op: 'write', path: file, ino: identity(stats) });
  }

  private changed(op: 'create' | 'link' | 'write', file: string): void {
    if (this.isNoted(file)) this.write({ op, path: file, ino: identity(statSync(file)) });
  }

  /** Keeps what the name stands for now; with `from` only where something is moved over it. */
  private keep(file: string, from: string | null): void {
    if (this.noting === null || !this.isNoted(file) || (from !== null && !existsSync(from))) return;
    // Scratch files may be gone, so they need not come back.
    if (file.startsWith(path.join(this.noting.home, 'work')) || !existsSync(file) || !statSync(file).isFile()) return;
    this.kept += 1;
    const old = path.join(this.noting.attic, `${process.pid}-${this.kept}`);
    linkSync(file, old);
    this.olds.set(file, old);
  }

  private taken(file: string): string | null {
    const old = this.olds.get(file) ?? null;
    this.olds.delete(file);
    return old;
  }

  private renamed(from: string, to: string): void {
    if (this.isNoted(to))
      this.write({ op: 'rename', path: to, from, ino: identity(statSync(to)), old: this.taken(to) });
  }

  private removed(file: string): void {
    const old = this.taken(file);
    if (old !== null) this.write({ op: 'remove', path: file, old });
  }

  private isNoted(file: string): boolean {
    return this.noting !== null && typeof file === 'string' && file.startsWith(this.noting.home);
  }

  private write(note: FileNote): void {
    if (this.noting) writeSync(this.noting.descriptor, `${JSON.stringify(note)}\n`);
  }

  private short(file: unknown): string {
    return typeof file === 'string' ? file.split('/').slice(-2).join('/') : '?';
  }
}
