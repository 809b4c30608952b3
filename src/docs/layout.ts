/**
 * Where the boxes of a diagram stand and how the lines run, in pixels. Relations point to the right: a table stands left of what it
 * belongs to, as near as it can. Within a column, boxes are ordered by where their partners stand, so that few lines cross. The same
 * relations always give the same picture.
 */
import type { Cardinality, Relation } from './relations.ts';

export interface BoxRow {
  readonly column: string;
  /** The middle of its text. */
  readonly y: number;
}

export interface Box {
  /** `schema.name`. */
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** The columns by which it joins. */
  readonly rows: readonly BoxRow[];
}

export interface Line {
  readonly from: Point;
  readonly to: Point;
  /** At either end: how many rows there belong to one at the other end. */
  readonly fromCount: string;
  readonly toCount: string;
  readonly relation: Relation;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
}

/** Pixels. A character of the page's monospaced type at 12 pixels is 7.3 wide at the most. */
export const ROW_HEIGHT = 18;
export const TITLE_HEIGHT = 24;
const CHARACTER_WIDTH = 7.3;
const PADDING = 10;
const GAP_BETWEEN_COLUMNS = 110;
const GAP_BETWEEN_BOXES = 22;
const MARGIN = 8;
/** More sweeps change nothing in graphs of this size. */
const SWEEPS = 6;

const COUNTS: Readonly<Record<Cardinality, readonly [from: string, to: string]>> = {
  'many to one': ['n', '1'],
  'many to at most one': ['n', '0–1'],
  'one to at most one': ['1', '0–1'],
  'many to many': ['n', 'n'],
};

export function layOut(relations: readonly Relation[]): Layout {
  const columns = orderedColumns(relations);
  const boxes = placed(columns, relations);
  const width = Math.max(...boxes.map((box) => box.x + box.width)) + MARGIN;
  const height = Math.max(...boxes.map((box) => box.y + box.height)) + MARGIN;
  const byName = new Map(boxes.map((box) => [box.name, box]));
  const lines = relations.map((relation): Line => {
    const [fromCount, toCount] = COUNTS[relation.cardinality];
    const [from, to] = [byName.get(relation.from)!, byName.get(relation.to)!];
    return {
      from: { x: from.x + from.width, y: rowOf(from, relation.columns[0]) },
      to: { x: to.x, y: rowOf(to, relation.toColumns[0]) },
      fromCount,
      toCount,
      relation,
    };
  });
  return { width, height, boxes, lines };
}

function rowOf(box: Box, column: string | undefined): number {
  return box.rows.find((row) => row.column === column)?.y ?? box.y + TITLE_HEIGHT / 2;
}

/** Names of the tables, column by column from left to right, each from top to bottom. */
function orderedColumns(relations: readonly Relation[]): string[][] {
  const ranks = ranksOf(relations);
  const columns: string[][] = [];
  for (const [name, rank] of ranks) {
    columns[rank] ??= [];
    columns[rank].push(name);
  }
  const present = columns.filter(Boolean);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const places = new Map(present.flatMap((names) => names.map((name, i) => [name, i / names.length] as const)));
    const names = present[sweep % present.length]!;
    const pull = new Map(names.map((name) => [name, meanOf(partnersOf(name, relations).map((p) => places.get(p)!))]));
    names.sort((a, b) => pull.get(a)! - pull.get(b)!);
  }
  return present;
}

/** 0 is the leftmost column. Relations that would close a circle have no say. */
function ranksOf(relations: readonly Relation[]): Map<string, number> {
  const names = [...new Set(relations.flatMap(({ from, to }) => [from, to]))];
  const depths = new Map<string, number>();
  /** Relations from here to the right end. */
  const depthOf = (name: string, way: readonly string[]): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    const next = relations.filter(({ from, to }) => from === name && to !== name && !way.includes(to));
    const depth = Math.max(0, ...next.map(({ to }) => 1 + depthOf(to, [...way, name])));
    depths.set(name, depth);
    return depth;
  };
  for (const name of names) depthOf(name, []);
  const deepest = Math.max(...depths.values());
  return new Map(names.map((name) => [name, deepest - depths.get(name)!]));
}

function partnersOf(name: string, relations: readonly Relation[]): string[] {
  return relations.flatMap(({ from, to }) => (from === name ? [to] : to === name ? [from] : []));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function placed(columns: readonly (readonly string[])[], relations: readonly Relation[]): Box[] {
  const boxes = columns.map((names) => names.map((name) => ({ name, columns: joinColumns(name, relations) })));
  const heights = boxes.map((column) => column.reduce((sum, box) => sum + heightOf(box) + GAP_BETWEEN_BOXES, 0));
  const tallest = Math.max(...heights);
  let x = MARGIN;
  return boxes.flatMap((column, i) => {
    const width = Math.max(...column.map(widthOf));
    let y = MARGIN + Math.round((tallest - heights[i]!) / 2);
    const left = x;
    x += width + GAP_BETWEEN_COLUMNS;
    return column.map((box): Box => {
      const top = y;
      y += heightOf(box) + GAP_BETWEEN_BOXES;
      const rows = box.columns.map((name, n) => ({ column: name, y: top + TITLE_HEIGHT + (n + 0.5) * ROW_HEIGHT }));
      return { name: box.name, x: left, y: top, width, height: heightOf(box), rows };
    });
  });
}

function joinColumns(name: string, relations: readonly Relation[]): string[] {
  const used = relations.flatMap(({ from, columns, to, toColumns }) => [
    ...(from === name ? columns : []),
    ...(to === name ? toColumns : []),
  ]);
  return [...new Set(used)];
}

interface Content {
  readonly name: string;
  readonly columns: readonly string[];
}

function heightOf({ columns }: Content): number {
  return TITLE_HEIGHT + columns.length * ROW_HEIGHT + 4;
}

function widthOf({ name, columns }: Content): number {
  return Math.ceil(Math.max(...[name, ...columns].map((text) => text.length)) * CHARACTER_WIDTH) + 2 * PADDING;
}
