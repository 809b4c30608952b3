/** A lake on disk, files to put into it, and what lies there afterwards. The lake moves files and does not read them. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Day } from '../../src/core/days.ts';
import type { SliceContent } from '../../src/core/records.ts';
import { Lake, type SliceChange, type SliceFiles } from '../../src/lake/lake.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';

export interface Scene {
  readonly root: string;
  readonly state: State;
  readonly stateFile: string;
  /** Another Lake on the same folder, as the next process has it. */
  reopened(): Lake;
  /** A change that brings a slice: its files hold `text`, and so does its digest; null: no rows. */
  bring(
    kind: 'replace' | 'amend' | 'hold',
    day: string,
    text: string | null,
    options?: BringOptions,
  ): Promise<SliceChange>;
  /** Files of the lake's trees by `<tree>/…`, sorted. */
  files(): Promise<string[]>;
  /** Every file of the lake's trees and what it holds. */
  tree(): Promise<Record<string, string>>;
  write(file: string, text: string): Promise<void>;
  close(): Promise<void>;
}

export interface BringOptions {
  readonly pipeline?: string;
  /** Text of the rejects file; none when absent. */
  readonly rejects?: string;
  readonly content?: Partial<SliceContent>;
}

/** Thirty-two hex digits that follow from the text. */
export function digestOf(text: string | null): string {
  return Buffer.from(text ?? '')
    .toString('hex')
    .padEnd(32, '0')
    .slice(0, 32);
}

/** Pipelines and their tables. */
export const TABLES = { orders: 'fact_order_item', promotions: 'fact_promotion_day' } as const;

/** Where a file of a content lies in one of the trees. */
export function fileOf(tree: string, day: string, text: string, pipeline: keyof typeof TABLES = 'orders'): string {
  const folder = `${tree}/${TABLES[pipeline]}/account=default/month=${day.slice(0, 7)}`;
  return `${folder}/${day}.${digestOf(text).slice(0, 12)}.parquet`;
}

export function contentOf(day: string, text: string | null, fields: Partial<SliceContent> = {}): SliceContent {
  return {
    day: day as Day,
    digest: digestOf(text),
    rows: text === null ? 0 : text.length,
    rejects: 0,
    duplicates: 0,
    sums: { commission: text === null ? null : `${text.length}.100000`, quantity: null },
    settled: false,
    version: 1,
    fetch_id: 'f1',
    fetched_at: '2026-03-20T02:00:00.000Z',
    key_min: null,
    key_max: null,
    ...fields,
  };
}

export const HOLD = { reason: 'shrunk', detail: 'few', rows_before: 9, held_at: '2026-03-20T02:00:00.000Z' };

export async function openScene(): Promise<Scene> {
  const place = await mkdtemp(path.join(tmpdir(), 'etl-lake-'));
  const root = path.join(place, 'home');
  const stateFile = path.join(place, 'state.db');
  const state = await openSqliteState(stateFile);
  const pipelines = Object.entries(TABLES).map(([name, table]) => ({ name, table }));
  let made = 0;
  const file = async (text: string | null | undefined) => {
    if (text === null || text === undefined) return null;
    made += 1;
    const name = path.join(place, `made-${made}.parquet`);
    await writeFile(name, text);
    return name;
  };
  return {
    root,
    state,
    stateFile,
    reopened: () => new Lake({ root, state, pipelines }),
    bring: async (kind, day, text, { pipeline = 'orders', rejects, content = {} } = {}) => {
      const files: SliceFiles = { file: await file(text), rejectsFile: await file(rejects) };
      const rejected = rejects === undefined ? {} : { rejects: rejects.length };
      const change = { pipeline, content: contentOf(day, text, { ...rejected, ...content }), files };
      return kind === 'hold' ? { kind, ...change, hold: HOLD } : { kind, ...change };
    },
    files: async () => Object.keys(await treeOf(root)),
    tree: () => treeOf(root),
    write: async (name, text) => {
      await mkdir(path.dirname(path.join(root, name)), { recursive: true });
      await writeFile(path.join(root, name), text);
    },
    close: async () => {
      await state.close();
      await rm(place, { recursive: true, force: true });
    },
  };
}

async function treeOf(root: string): Promise<Record<string, string>> {
  const found = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  const names = found.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const texts = await Promise.all(names.map(async (name) => [path.relative(root, name), await readFile(name, 'utf8')]));
  return Object.fromEntries(texts.sort(([a], [b]) => (a! < b! ? -1 : 1)));
}
