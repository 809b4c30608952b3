import { describe, expect, test } from 'vitest';
import { type Box, layOut } from '../../src/docs/layout.ts';
import type { Relation } from '../../src/docs/relations.ts';
import { readRelations } from '../../src/docs/relations.ts';

const relation = (from: string, to: string, column = 'id'): Relation => ({
  ...{ from, columns: [column], to, toColumns: [column], cardinality: 'many to one', note: null },
});
const overlap = (a: Box, b: Box) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

describe('the layout of a diagram', () => {
  test('puts a table left of what it belongs to, however the relations are ordered', () => {
    const relations = [relation('b', 'c'), relation('a', 'b'), relation('a', 'c')];
    for (const order of [relations, [...relations].reverse()]) {
      const at = new Map(layOut(order).boxes.map((box) => [box.name, box.x]));
      expect(at.get('a')).toBeLessThan(at.get('b')!);
      expect(at.get('b')).toBeLessThan(at.get('c')!);
    }
  });

  test('ends with a circle, and with a table that belongs to itself', () => {
    const { boxes, lines } = layOut([relation('a', 'b'), relation('b', 'a'), relation('b', 'b')]);
    expect(boxes.map(({ name }) => name).sort()).toEqual(['a', 'b']);
    expect(lines).toHaveLength(3);
  });

  test('lines begin and end at the row of their first column', () => {
    const { boxes, lines } = layOut([relation('a', 'c', 'x'), relation('b', 'c', 'y')]);
    const row = (name: string, column: string) =>
      boxes.find((box) => box.name === name)?.rows.find((r) => r.column === column)?.y;
    expect(lines.map(({ from, to }) => [from.y, to.y])).toEqual([
      [row('a', 'x'), row('c', 'x')],
      [row('b', 'y'), row('c', 'y')],
    ]);
  });

  test('of the groups that ship: boxes lie inside, and none upon another', async () => {
    for (const { relations } of await readRelations()) {
      const { boxes, width, height } = layOut(relations);
      const outside = boxes.filter((b) => b.x < 0 || b.y < 0 || b.x + b.width > width || b.y + b.height > height);
      expect(outside).toEqual([]);
      expect(boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => overlap(a, b)))).toEqual([]);
    }
  });
});
