import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Day } from '../../src/core/days.ts';
import type { Lake, SliceChange } from '../../src/lake/lake.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import { countCommits } from '../../src/store/tables/slices.ts';
import { contentOf, digestOf, fileOf, HOLD, openScene, type Scene } from './scene.ts';

let scene: Scene;
let lake: Lake;
beforeEach(async () => {
  scene = await openScene();
  lake = scene.reopened();
});
afterEach(() => scene.close());

const day = (text: string) => text as Day;
const entryOf = async (of: string, pipeline = 'orders') => (await scene.reopened().slices(pipeline)).get(day(of));
const plain = { file: null, rejects_file: null, moved: false, held: null, checked: null };

describe('a commit', () => {
  it('of several slices in several months is read back by the next process, in the order of days', async () => {
    const changes = [
      await scene.bring('replace', '2026-04-01', 'april'),
      await scene.bring('replace', '2026-03-31', 'march', { rejects: 'bad' }),
      await scene.bring('replace', '2025-12-31', null),
      await scene.bring('replace', '2026-03-01', 'first'),
      await scene.bring('replace', '2026-03-01', 'other', { pipeline: 'promotions' }),
    ];
    await lake.commit(changes);
    const next = scene.reopened();
    const slices = [...(await next.slices('orders')).values()];
    expect(slices.map((entry) => entry.content)).toEqual([
      contentOf('2025-12-31', null),
      contentOf('2026-03-01', 'first'),
      contentOf('2026-03-31', 'march', { rejects: 3 }),
      contentOf('2026-04-01', 'april'),
    ]);
    expect([...(await next.slices('promotions')).keys()]).toEqual(['2026-03-01']);
    expect(await scene.files()).toEqual([
      fileOf('lake', '2026-03-01', 'first'),
      fileOf('lake', '2026-03-31', 'march'),
      fileOf('lake', '2026-04-01', 'april'),
      fileOf('lake', '2026-03-01', 'other', 'promotions'),
      fileOf('rejects', '2026-03-31', 'march'),
    ]);
  });

  it('gives the files of a slice by absolute path, and null where there are none', async () => {
    await lake.commit([
      await scene.bring('replace', '2026-03-01', 'rows', { rejects: 'bad' }),
      await scene.bring('replace', '2026-03-02', null),
    ]);
    const [full, empty] = [...(await lake.slices('orders')).values()];
    expect(await readFile(lake.rowsFile(full!)!, 'utf8')).toBe('rows');
    expect(await readFile(lake.rejectsFile(full!)!, 'utf8')).toBe('bad');
    expect(path.isAbsolute(lake.rowsFile(full!)!)).toBe(true);
    expect([lake.rowsFile(empty!), lake.rejectsFile(empty!)]).toEqual([null, null]);
    expect(empty).toEqual({ content: contentOf('2026-03-02', null), ...plain });
  });

  it('is seen at once by the Lake that made it, and by one that was reading meanwhile', async () => {
    await lake.commit([await scene.bring('replace', '2026-03-01', 'old')]);
    const change = await scene.bring('replace', '2026-03-01', 'new');
    const commit = lake.commit([change]);
    let isOver = false;
    const over = commit.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await lake.slices('orders');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    expect((await lake.slices('orders')).get(day('2026-03-01'))?.content.digest).toBe(digestOf('new'));
  });

  it('of nothing writes nothing', async () => {
    await lake.commit([]);
    expect(await scene.tree()).toEqual({});
  });

  it('keeps the other slices of the month', async () => {
    await lake.commit([await scene.bring('replace', '2026-03-01', 'one')]);
    await lake.commit([await scene.bring('replace', '2026-03-02', 'two')]);
    expect([...(await scene.reopened().slices('orders')).keys()]).toEqual(['2026-03-01', '2026-03-02']);
    expect(await scene.files()).toHaveLength(2);
  });

  it('what lies beside the months is left alone', async () => {
    await lake.commit([await scene.bring('replace', '2026-03-01', 'one')]);
    await scene.write('lake/fact_order_item/.DS_Store', 'x');
    await scene.write('lake/README', 'x');
    expect([...(await scene.reopened().slices('orders')).keys()]).toEqual(['2026-03-01']);
    await scene.reopened().sweep();
    expect(await scene.files()).toEqual(expect.arrayContaining(['lake/fact_order_item/.DS_Store', 'lake/README']));
  });

  it('a pipeline that was never loaded has no slices', async () => {
    expect((await lake.slices('orders')).size).toBe(0);
    await lake.sweep();
  });
});

describe('what becomes of a slice', () => {
  const DAY = '2026-03-01';
  const rows = (text: string) => fileOf('lake', DAY, text);
  const held = (text: string) => fileOf('held', DAY, text);
  const rejects = (text: string) => fileOf('rejects', DAY, text);
  const confirm: SliceChange = { kind: 'confirm', pipeline: 'orders', day: day(DAY) };
  const release: SliceChange = { kind: 'release', pipeline: 'orders', day: day(DAY) };
  const bring = (...[kind, text, options]: [Parameters<Scene['bring']>[0], string | null, object?]) =>
    scene.bring(kind, DAY, text, options);

  beforeEach(async () => lake.commit([await bring('replace', 'first', { rejects: 'bad' })]));

  it('replaced: the new files are there, the old ones gone', async () => {
    await lake.commit([await bring('replace', 'second')]);
    expect(await entryOf(DAY)).toEqual({ content: contentOf(DAY, 'second'), ...plain, file: rows('second') });
    expect(await scene.files()).toEqual([rows('second')]);
  });

  it('replaced by nothing: no file is left', async () => {
    await lake.commit([await bring('replace', null)]);
    expect(await entryOf(DAY)).toEqual({ content: contentOf(DAY, null), ...plain });
    expect(await scene.files()).toEqual([]);
  });

  it('replaced by the same content: the new files take the place of the old', async () => {
    await scene.write(rows('first'), 'damaged');
    await lake.commit([await bring('replace', 'first', { rejects: 'bad' })]);
    expect((await scene.tree())[rows('first')]).toBe('first');
    expect(await scene.files()).toEqual([rows('first'), rejects('first')]);
  });

  it('amended: what is left, and the mark that it must be asked for again', async () => {
    await lake.commit([await bring('amend', 'less')]);
    expect(await entryOf(DAY)).toMatchObject({
      content: { digest: digestOf('less') },
      moved: true,
      rejects_file: null,
    });
    expect(await scene.files()).toEqual([rows('less')]);
    await lake.commit([confirm]);
    expect(await entryOf(DAY)).toMatchObject({ content: { digest: digestOf('less') }, moved: false });
    expect(await scene.files()).toEqual([rows('less')]);
  });

  it('held: what it held stays, the new content lies apart with its rejects', async () => {
    await lake.commit([await bring('hold', 'few', { rejects: 'worse' })]);
    expect(await entryOf(DAY)).toEqual({
      content: contentOf(DAY, 'first', { rejects: 3 }),
      file: rows('first'),
      rejects_file: rejects('first'),
      moved: false,
      checked: null,
      held: {
        content: contentOf(DAY, 'few', { rejects: 5 }),
        file: held('few'),
        rejects_file: rejects('few'),
        ...HOLD,
      },
    });
    expect(await scene.files()).toEqual([rows('first'), held('few'), rejects('few'), rejects('first')].sort());
  });

  it.each<[string, () => Promise<SliceChange>, string, string[]]>([
    ['confirmed: the hold ends', async () => confirm, 'first', [rows('first'), rejects('first')]],
    ['replaced: the hold ends', () => bring('replace', 'full'), 'full', [rows('full')]],
    ['released: the held content is the content', async () => release, 'few', [rows('few'), rejects('few')]],
  ])('held and then %s', async (_, change, text, files) => {
    await lake.commit([await bring('hold', 'few', { rejects: 'worse' })]);
    await lake.commit([await change()]);
    expect(await entryOf(DAY)).toMatchObject({ content: { digest: digestOf(text) }, held: null, moved: false });
    expect(await scene.files()).toEqual(files.sort());
    for (const [name, held] of Object.entries(await scene.tree())) if (name === rows(text)) expect(held).toBe(text);
  });

  it('held again with other content: only the newest is kept', async () => {
    await lake.commit([await bring('hold', 'few')]);
    await lake.commit([await bring('hold', 'fewer')]);
    expect((await entryOf(DAY))?.held?.content.digest).toBe(digestOf('fewer'));
    expect(await scene.files()).toEqual([rows('first'), held('fewer'), rejects('first')].sort());
  });

  it('held and then amended: the hold stays', async () => {
    await lake.commit([await bring('hold', 'few')]);
    await lake.commit([await bring('amend', 'less')]);
    expect(await entryOf(DAY)).toMatchObject({ moved: true, held: { content: { digest: digestOf('few') } } });
    expect(await scene.files()).toEqual([rows('less'), held('few')].sort());
  });

  it('held as empty and then released: no file is left', async () => {
    await lake.commit([await bring('hold', null)]);
    await lake.commit([release]);
    expect(await entryOf(DAY)).toEqual({ content: contentOf(DAY, null), ...plain });
    expect(await scene.files()).toEqual([]);
  });

  it('released though it is not held: refused as wrong usage', async () => {
    await expect(lake.commit([release])).rejects.toMatchObject({ kind: 'usage', code: 'not_held' });
  });

  it.each<[SliceChange['kind'], () => Promise<SliceChange>]>([
    ['amend', () => scene.bring('amend', '2026-03-09', 'x')],
    ['hold', () => scene.bring('hold', '2026-03-09', 'x')],
    ['confirm', async () => ({ ...confirm, day: day('2026-03-09') })],
    ['release', async () => ({ ...release, day: day('2026-03-09') })],
  ])('%s of a slice that is not there is our bug', async (_, change) => {
    await expect(lake.commit([await change()])).rejects.toMatchObject({ kind: 'bug', code: 'no_slice' });
    expect(await entryOf(DAY)).toMatchObject({ content: { digest: digestOf('first') } });
  });
});

describe('the answer that a commit stands on', () => {
  const by = { on: day('2026-03-20'), sha256: 'abc', from: day('2026-03-01'), to: day('2026-03-03') };
  const checked = { pipeline: 'orders', days: ['2026-03-01', '2026-03-02', '2026-03-03'].map(day), by };
  const checkedOf = async () => [...(await scene.reopened().slices('orders')).values()].map((entry) => entry.checked);
  const bring = (...[kind, of, text]: [Parameters<Scene['bring']>[0], string, string]) => scene.bring(kind, of, text);

  beforeEach(async () =>
    lake.commit([
      await bring('replace', '2026-03-01', 'one'),
      await bring('replace', '2026-03-02', 'two'),
      await bring('replace', '2026-03-03', 'three'),
    ]),
  );

  it('vouches for slices that it changed, held back, and left as they were, in one commit with them', async () => {
    await lake.commit([await bring('replace', '2026-03-01', 'ONE'), await bring('hold', '2026-03-02', 'few')], checked);
    expect(await checkedOf()).toEqual([by, by, by]);
    expect([...(await lake.slices('orders')).values()].map((entry) => entry.checked)).toEqual([by, by, by]);
  });

  it('vouches also when nothing changes', async () => {
    await lake.commit([], checked);
    expect(await checkedOf()).toEqual([by, by, by]);
    expect([...(await lake.slices('promotions')).keys()]).toEqual([]);
  });

  it('does not vouch for a slice that loses an item by it', async () => {
    await lake.commit([await bring('replace', '2026-03-01', 'ONE'), await bring('amend', '2026-03-02', 'tw')], checked);
    expect(await checkedOf()).toEqual([by, null, by]);
  });

  it.each<[string, boolean, () => Promise<SliceChange[]>]>([
    ['replaced by something else', false, async () => [await bring('replace', '2026-03-01', 'other')]],
    ['amended', false, async () => [await bring('amend', '2026-03-01', 'on')]],
    ['held by something else', false, async () => [await bring('hold', '2026-03-01', 'few')]],
    ['confirmed', true, async () => [{ kind: 'confirm', pipeline: 'orders', day: day('2026-03-01') }]],
  ])('of a slice that is %s: %s', async (_, stays, changes) => {
    await lake.commit([], checked);
    await lake.commit(await changes());
    expect((await checkedOf())[0]).toEqual(stays ? by : null);
  });

  it('vouches for what it held when that is released', async () => {
    await lake.commit([await bring('hold', '2026-03-01', 'few')], checked);
    await lake.commit([{ kind: 'release', pipeline: 'orders', day: day('2026-03-01') }]);
    expect((await entryOf('2026-03-01'))?.content.digest).toBe(digestOf('few'));
    expect((await checkedOf())[0]).toEqual(by);
  });
});

describe('who reads', () => {
  it('sees what was committed before the commit that is under way, and does not wait for it', async () => {
    await lake.commit([await scene.bring('replace', '2026-03-01', 'old')]);
    const reader = scene.reopened();
    const other = await openSqliteState(scene.stateFile);
    try {
      await other.write(async (tx) => {
        await tx.deleteFrom('slice').execute();
        expect([...(await reader.slices('orders')).keys()]).toEqual(['2026-03-01']);
      });
      reader.reread();
      expect((await reader.slices('orders')).size).toBe(0);
    } finally {
      await other.close();
    }
  });

  it('is told by the count of commits that there is something to read again', async () => {
    const before = await countCommits(scene.state.db);
    await lake.commit([await scene.bring('replace', '2026-03-01', 'one')]);
    expect(await countCommits(scene.state.db)).toBe(before + 1);
    const by = { on: day('2026-03-20'), sha256: 'abc', from: day('2026-03-01'), to: day('2026-03-01') };
    await lake.commit([], { pipeline: 'orders', days: [day('2026-03-01')], by });
    expect(await countCommits(scene.state.db)).toBe(before + 1);
  });

  it('finds the slice of a file that an error names', async () => {
    await lake.commit([await scene.bring('replace', '2026-03-01', 'one')]);
    const file = lake.rowsFile((await entryOf('2026-03-01'))!)!;
    expect(lake.filesNamedIn(`No magic bytes found at end of file '${file}'`)).toEqual([
      { path: file, pipeline: 'orders', day: '2026-03-01' },
    ]);
    expect(lake.filesNamedIn(`no such file '/tmp/lake/fact_order_item/2026-03-01.parquet'`)).toEqual([]);
  });
});
