/** Objects as files under a folder. Each is written beside its place, synced and renamed, and its folder is synced too. */
import { createReadStream, type Dirent } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { EtlError } from '../../core/errors.ts';
import { moveIntoPlace, syncDir, writeAtomic } from '../../disk/atomic.ts';
import type { Place, PlacedObject } from './places.ts';

const READ_BYTES = 1024 * 1024;
/** Of files that are being written beside their place: none of them is an object. */
const UNFINISHED = /^\..*\.tmp$/;

export class FolderPlace implements Place {
  private readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  put(name: string, content: { readonly file: string } | { readonly bytes: Uint8Array }): Promise<void> {
    const file = this.called(name);
    return 'file' in content ? moveIntoPlace(content.file, file) : writeAtomic(file, content.bytes);
  }

  async *get(name: string): AsyncGenerator<Uint8Array> {
    try {
      yield* createReadStream(this.called(name), { highWaterMark: READ_BYTES }) as AsyncIterable<Uint8Array>;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
      throw new EtlError('failed', 'no_object', `${this.called(name)} is missing`, { cause });
    }
  }

  async *list(prefix: string): AsyncGenerator<PlacedObject> {
    // The prefix may end within a name.
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    for await (const found of this.under(folder)) if (found.name.startsWith(prefix)) yield found;
  }

  async delete(name: string): Promise<void> {
    const file = this.called(name);
    await rm(file, { force: true });
    await syncDir(path.dirname(file)).catch(ignoreMissing);
  }

  called(name: string): string {
    return path.join(this.root, name);
  }

  private async *under(folder: string): AsyncGenerator<PlacedObject> {
    const entries = (await readdir(this.called(folder), { withFileTypes: true }).catch(ignoreMissing)) ?? [];
    for (const entry of entries.sort((a: Dirent, b: Dirent) => (a.name < b.name ? -1 : 1))) {
      const name = `${folder}${entry.name}`;
      if (entry.isDirectory()) yield* this.under(`${name}/`);
      else if (entry.isFile() && !UNFINISHED.test(entry.name)) {
        const status = await stat(this.called(name)).catch(ignoreMissing);
        if (status) yield { name, bytes: status.size, atMs: status.mtimeMs };
      }
    }
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}
