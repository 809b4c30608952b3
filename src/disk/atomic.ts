/**
 * Files that are either wholly there or not at all, also after a crash: written beside their place, synced, renamed.
 * The folder is synced as well, or a power cut could forget the rename.
 */
import { randomBytes } from 'node:crypto';
import { access, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';

export interface AtomicOptions {
  /** Permission bits of the new file; default 0644. */
  readonly mode?: number;
}

export async function syncDir(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Puts a finished file into its place: sync, rename over what is there, sync the folder. Makes the folder when missing. */
export async function moveIntoPlace(from: string, to: string): Promise<void> {
  await syncFile(from);
  await mkdir(path.dirname(to), { recursive: true });
  await rename(from, to);
  await syncDir(path.dirname(to));
}

export async function writeAtomic(file: string, data: string | Uint8Array, options: AtomicOptions = {}): Promise<void> {
  const dir = path.dirname(file);
  await mkdir(dir, { recursive: true });
  const beside = path.join(dir, `.${path.basename(file)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const handle = await open(beside, 'wx', options.mode ?? 0o644);
    try {
      await handle.writeFile(data);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  await syncDir(dir);
}

export async function writeJson(file: string, value: unknown, options: AtomicOptions = {}): Promise<void> {
  await writeAtomic(file, `${JSON.stringify(value, null, 1)}\n`, options);
}

/** The file's text, or null when there is none. */
export async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Names of what lies in the folder, in no order; none when there is no such folder. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Whether the file or folder can be found. */
export function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
