/**
 * Backups of a state that is a file, and the way back to one: `state-<day>.db` in a folder of its own, written beside its place and
 * renamed, so that each is whole. A damaged state is set aside under a name that says so, and never deleted.
 */
import { closeSync, openSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { EtlError } from '../../core/errors.ts';
import type { HomePaths } from '../../core/home.ts';
import { moveIntoPlace, namesIn } from '../../disk/atomic.ts';
import type { StateFile } from '../state.ts';
import { proveSqliteFile } from './state.ts';

const KEPT = 5;
/** Runs that follow each other closely make no further backup: each costs as much as copying the state. */
const LEAST_AGE_MS = 3_600_000;
const NAME = /^state-(?<day>\d{4}-\d{2}-\d{2})\.db$/;

export interface Backup {
  readonly file: string;
  readonly day: string;
}

/** Newest first. */
export async function backupsIn(folder: string): Promise<Backup[]> {
  const found = (await namesIn(folder)).flatMap((name) => {
    const day = NAME.exec(name)?.groups?.day;
    return day === undefined ? [] : [{ file: path.join(folder, name), day }];
  });
  return found.sort((a, b) => (a.day < b.day ? 1 : -1));
}

/** Makes the backup of that day afresh, unless it is younger than an hour, and deletes what is too old. */
export async function backUpState(state: StateFile, folder: string, day: string, nowMs: number): Promise<void> {
  const file = path.join(folder, `state-${day}.db`);
  const made = await stat(file).catch(() => null);
  if (made && nowMs - made.mtimeMs >= 0 && nowMs - made.mtimeMs < LEAST_AGE_MS) return;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await namesIn(folder)) if (name.endsWith('.tmp')) await rm(path.join(folder, name));
  const beside = `${file}.tmp`;
  closeSync(openSync(beside, 'wx', 0o600));
  await state.copyTo(beside);
  await moveIntoPlace(beside, file);
  for (const old of (await backupsIn(folder)).slice(KEPT)) await rm(old.file, { force: true });
}

type StatePlaces = Pick<HomePaths, 'database' | 'lake' | 'raw' | 'backups'>;

/** For where no state is found. Errors: `failed/lost_state` when one of the folders shows that there was one. */
export async function demandNew({ database: file, ...folders }: StatePlaces, place: string = file): Promise<void> {
  for (const folder of [folders.lake, folders.raw, folders.backups]) {
    if ((await readdir(folder).catch(() => [])).length === 0) continue;
    throw new EtlError('failed', 'lost_state', `${place} is lost: ${folder} holds data that it knew`, {
      concern: { file },
      hint: 'take the newest backup and find the rest again: partner-etl rebuild --state',
    });
  }
}

export type StateFinding =
  | { readonly is: 'sound' }
  /** The file is not there, or has no table. */
  | { readonly is: 'lost' }
  | { readonly is: 'damaged'; readonly problem: string };

/** Only while nobody else has the file open. */
export async function examineState(file: string): Promise<StateFinding> {
  if (!(await stat(file).catch(() => null))) return { is: 'lost' };
  try {
    return { is: proveSqliteFile(file) ? 'sound' : 'lost' };
  } catch (error) {
    return { is: 'damaged', problem: error instanceof Error ? error.message : String(error) };
  }
}

export interface Restored {
  readonly was: StateFinding;
  /** Where the damaged file lies now. */
  readonly set_aside: string | null;
  /** What took its place; null: nothing did, or nothing had to. */
  readonly backup: Backup | null;
  /** Backups that are damaged themselves. */
  readonly unsound: readonly string[];
}

/**
 * Puts the newest sound backup in the place of a state that is damaged or lost; leaves a sound one as it is. Only while nobody else
 * has it open. Killed at any step, it is simply carried out again. `at`: for the name of what is set aside.
 */
export async function restoreState(file: string, folder: string, at: string): Promise<Restored> {
  const was = await examineState(file);
  if (was.is === 'sound') return { was, set_aside: null, backup: null, unsound: [] };
  const aside = `${file}.damaged-${at}`;
  const isThere = (await stat(file).catch(() => null)) !== null;
  // What SQLite left beside the file must not be taken for that of the backup. A file without a table is made by any command.
  for (const end of ['', '-wal', '-shm'])
    if (isThere && was.is === 'lost') await rm(`${file}${end}`, { force: true });
    else await moveAside(`${file}${end}`, `${aside}${end}`);
  const set_aside = was.is === 'damaged' ? aside : null;
  const unsound: string[] = [];
  for (const backup of await backupsIn(folder)) {
    if ((await examineState(backup.file)).is !== 'sound') {
      unsound.push(backup.file);
      continue;
    }
    const beside = `${file}.tmp`;
    await rm(beside, { force: true });
    closeSync(openSync(beside, 'wx', 0o600));
    await copyFile(backup.file, beside);
    await moveIntoPlace(beside, file);
    return { was, set_aside, backup, unsound };
  }
  return { was, set_aside, backup: null, unsound };
}

async function moveAside(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
