/**
 * Where the lake's files lie, in trees beside each other:
 *
 *   lake/<pipeline>/<yyyy-mm>/<day>.<digest>.parquet       the rows of a table, and nothing else
 *   held/<pipeline>/<yyyy-mm>/<day>.<digest>.parquet       rows of a held slice
 *   rejects/<pipeline>/<yyyy-mm>/<day>.<digest>.parquet    rejects of a slice
 *   manifests/<pipeline>/<yyyy-mm>.json
 *   manifests/journal.json                                 only while a commit is under way
 *
 * pandas, polars, pyarrow and Spark take every file under a folder for a part of the table, so a table's folder holds its rows alone.
 */
import path from 'node:path';

/** Trees of Parquet files. */
export const TREES = ['lake', 'held', 'rejects'] as const;
export type Tree = (typeof TREES)[number];

/** The root of each tree, by absolute path. */
export type LakeFolders = Readonly<Record<Tree | 'manifests', string>>;

export class LakePlaces {
  private readonly roots: LakeFolders;

  constructor(roots: LakeFolders) {
    this.roots = roots;
  }

  folder(tree: Tree, pipeline: string, month: string): string {
    return path.join(this.roots[tree], pipeline, month);
  }

  /** Of all pipelines, or of one. */
  manifests(pipeline = ''): string {
    return path.join(this.roots.manifests, pipeline);
  }

  manifest(pipeline: string, month: string): string {
    return path.join(this.roots.manifests, pipeline, `${month}.json`);
  }

  get journal(): string {
    return path.join(this.roots.manifests, 'journal.json');
  }

  /** The path of a file within its tree; null for one that lies in none. */
  nameOf(file: string): string | null {
    const names = TREES.map((tree) => path.relative(this.roots[tree], file));
    return names.find((name) => !name.startsWith('..') && !path.isAbsolute(name)) ?? null;
  }
}
