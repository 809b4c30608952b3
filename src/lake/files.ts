/**
 * The files of the lake, under the home directory, in three trees beside each other:
 *
 *   lake/<table>/account=<account>/month=<yyyy-mm>/<day>.<digest>.parquet       the rows of a table, and nothing else
 *   held/<table>/…     rows of what is held of a slice
 *   rejects/<table>/…  rejects of a slice, and of what is held of it
 *
 * Named by the table that the rows are loaded into. pandas, polars, pyarrow and Spark take every file under a folder for a part of the
 * table, so a table's folder holds its rows alone; account and month are columns to those who read hive partitions.
 *
 * All that is asked of the place is here: put a file whole, copy, list, delete. A file is never changed; another content has another name.
 */
import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { ACCOUNT } from '../core/account.ts';
import { type Day, monthOf, parseDay } from '../core/days.ts';
import type { SliceContent } from '../core/records.ts';
import { moveIntoPlace, namesIn } from '../disk/atomic.ts';

export const TREES = ['lake', 'held', 'rejects'] as const;
export type Tree = (typeof TREES)[number];

/** Of a content's digest, in the name of its files. */
const DIGEST_DIGITS = 12;

/** What the path of a file says. */
export interface FileName {
  readonly tree: Tree;
  readonly table: string;
  readonly day: Day;
  /** The first digits of the content's digest. */
  readonly digest: string;
}

const FILE_NAME =
  /^(?<tree>lake|held|rejects)\/(?<table>[a-z0-9_]+)\/account=default\/month=\d{4}-\d{2}\/(?<day>\d{4}-\d{2}-\d{2})\.(?<digest>[0-9a-f]{12})\.parquet$/;

/** What the path of a file under the home directory says; null where none of ours is called so. */
export function parseFileName(file: string): FileName | null {
  const found = FILE_NAME.exec(file)?.groups;
  if (!found) return null;
  return { tree: found.tree as Tree, table: found.table!, day: parseDay(found.day!), digest: found.digest! };
}

/** The path of a content's file under the home directory. */
export function fileNameOf(tree: Tree, table: string, { day, digest }: Pick<SliceContent, 'day' | 'digest'>): string {
  return `${folderOf(tree, table, monthOf(day))}/${day}.${digestInName(digest)}.parquet`;
}

export function digestInName(digest: string): string {
  return digest.slice(0, DIGEST_DIGITS);
}

function folderOf(tree: Tree, table: string, month: string): string {
  return `${tree}/${table}/account=${ACCOUNT}/month=${month}`;
}

export class LakeFiles {
  private readonly root: string;

  /** `root`: the home directory. */
  constructor(root: string) {
    this.root = root;
  }

  /** Absolute path of a file that is named by its path under the home directory. */
  at(file: string): string {
    return path.join(this.root, file);
  }

  /** The path under the home directory of a file that is named by its absolute path. */
  nameOf(file: string): string {
    return path.relative(this.root, file).replaceAll(path.sep, '/');
  }

  /** Moves a finished file of ours into its place, whole and synced; what is there under the name is replaced. */
  put(from: string, file: string): Promise<void> {
    return moveIntoPlace(from, this.at(file));
  }

  /** Half a copy never lies under the name. */
  async copy(from: string, file: string): Promise<void> {
    const half = `${this.at(from)}.tmp`;
    await copyFile(this.at(from), half);
    await this.put(half, file);
  }

  /** Files of a month, and what a crash left of them. */
  async list(tree: Tree, table: string, month: string): Promise<string[]> {
    const folder = folderOf(tree, table, month);
    const names = await namesIn(this.at(folder));
    return names.filter((name) => /\.(parquet|tmp)$/.test(name)).map((name) => `${folder}/${name}`);
  }

  /** Every file of a table. */
  async listAll(tree: Tree, table: string): Promise<string[]> {
    const months = await namesIn(this.at(`${tree}/${table}/account=${ACCOUNT}`));
    const named = months.flatMap((name) => /^month=(\d{4}-\d{2})$/.exec(name)?.[1] ?? []).sort();
    const files = await Promise.all(named.map((month) => this.list(tree, table, month)));
    return files.flat().sort();
  }

  async delete(file: string): Promise<void> {
    await rm(this.at(file), { force: true });
  }
}
