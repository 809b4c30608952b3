import { describe, expect, test } from 'vitest';
import { commentOf, parseTopic } from '../../src/warehouse/dictionary/dictionary.ts';
import { commentsDue, declaredComments } from '../../src/warehouse/schema/comments.ts';
import { dictionaryClaims } from './dictionary-claims.ts';
import { duckdbWarehouse } from './duckdb/warehouse.ts';

dictionaryClaims(duckdbWarehouse);

const VIEW = `mart.ageing:
  about: How old is it?
  grain: a state
  traps: [ mind the gap ]
  columns:
    as_of: the newest day
    state: "pending: not decided"
`;
const FUNCTION = `warehouse.orders_as_of(instant):
  about: As known then.
  arguments: { instant: the instant }
  rows_of: warehouse.fact_order_item_version
warehouse.sub_id_parts(sub_id):
  about: The parts.
  arguments:
    sub_id: a sub-ID
  returns: JSON
`;

describe('a file of the dictionary', () => {
  test('is read in its order: views, functions that give rows, functions of one value', () => {
    expect(parseTopic('f', VIEW + FUNCTION)).toEqual([
      {
        ...{ schema: 'mart', name: 'ageing', about: 'How old is it?', grain: 'a state', traps: ['mind the gap'] },
        ...{ arguments: null, returns: null, rowsOf: null },
        columns: [
          { name: 'as_of', about: 'the newest day' },
          { name: 'state', about: 'pending: not decided' },
        ],
      },
      {
        ...{ schema: 'warehouse', name: 'orders_as_of', about: 'As known then.', grain: null, traps: [], columns: [] },
        arguments: [{ name: 'instant', about: 'the instant' }],
        ...{ returns: null, rowsOf: 'warehouse.fact_order_item_version' },
      },
      {
        ...{ schema: 'warehouse', name: 'sub_id_parts', about: 'The parts.', grain: null, traps: [], columns: [] },
        arguments: [{ name: 'sub_id', about: 'a sub-ID' }],
        ...{ returns: 'JSON', rowsOf: null },
      },
    ]);
  });

  test('makes comments that have question, grain and traps, each a sentence', () => {
    expect(parseTopic('f', VIEW + FUNCTION).map(commentOf)).toEqual([
      'How old is it? One row: a state. Mind: mind the gap.',
      'As known then.',
      'The parts. Gives JSON.',
    ]);
  });

  test.each<[string, string]>([
    ['no YAML', 'a: [b'],
    ['a list', '- a'],
    ['a schema that is none of ours', VIEW.replace('mart.', 'main.')],
    ['no about', VIEW.replace(/ {2}about.*\n/, '')],
    ['an empty meaning', VIEW.replace('the newest day', "''")],
    ['a meaning that is no text', VIEW.replace('the newest day', '7')],
    ['a member that is unknown', VIEW.replace('grain', 'grian')],
    ['no columns', 'mart.ageing:\n  about: x\n'],
    ['a column twice', `${VIEW}    as_of: again\n`],
    ['an entry twice', VIEW + VIEW],
    ['arguments that differ from those of its name', FUNCTION.replace('{ instant:', '{ moment:')],
    ['a function whose arguments are not described', FUNCTION.replace(/ {2}arguments: {.*\n/, '')],
    ['arguments of what is no function', FUNCTION.replace('(instant)', '')],
    ['columns and returns at once', `${FUNCTION}  columns: { a: b }\n`],
    ['returns of what is no function', 'mart.a:\n  about: x\n  returns: y\n'],
  ])('is refused with %s, and the error names the file', (_, text) => {
    expect(() => parseTopic('/somewhere/x.yaml', text)).toThrow(
      expect.objectContaining({
        kind: 'bug',
        code: 'dictionary',
        message: expect.stringContaining('/somewhere/x.yaml'),
      }),
    );
  });
});

describe('comments that are due', () => {
  const declared = declaredComments([], new Map(parseTopic('f', VIEW).map((entry) => ['mart.ageing', entry])));
  const found = { kind: 'VIEW', schema: 'mart', name: 'ageing' } as const;

  test('are those that differ; what says so already is left alone, and so is what is not there', () => {
    expect(
      commentsDue(declared, [
        { ...found, column: 'as_of', comment: 'another' },
        { ...found, column: 'state', comment: 'pending: not decided' },
      ]),
    ).toEqual([`COMMENT ON COLUMN mart."ageing"."as_of" IS 'the newest day'`]);
    expect(commentsDue(declared, [])).toEqual([]);
  });
});
