import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Day } from '../../src/core/days.ts';
import type { Lake, SliceChange } from '../../src/lake/lake.ts';
import { contentOf, digestOf, HOLD, nameOf, openScene, type Scene } from './scene.ts';

let scene: Scene;
let lake: Lake;
beforeEach(async () => {
  scene = await openScene();
  lake = scene.reopened();
});
afterEach(() => scene.close());

const day = (text: string) => text as Day;
const entryOf = async (of: string, pipeline = 'orders') => (await scene.reopened().slices(pipeline)).get(day(of));
const plain = { file: null, rejects_file: null, moved: false, held: null };

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
      `lake/orders/2026-03/${nameOf('2026-03-01', 'first')}`,
      `lake/orders/2026-03/${nameOf('2026-03-31', 'march')}`,
      `lake/orders/2026-04/${nameOf('2026-04-01', 'april')}`,
      `lake/promotions/2026-03/${nameOf('2026-03-01', 'other')}`,
      `rejects/orders/2026-03/${nameOf('2026-03-31', 'march')}`,
    ]);
  });

  it('gives the files of a slice by absolute path, and null where there are none', async () => {
    await lake.commit([
      await scene.bring('replace', '2026-03-01', 'rows', { rejects: 'bad' }),
      await scene.bring('replace', '2026-03-02', null),
    ]);
    const [full, empty] = [...(await lake.slices('orders')).values()];
    expect(await readFile(lake.rowsFile('orders', full!)!, 'utf8')).toBe('rows');
    expect(await readFile(lake.rejectsFile('orders', full!)!, 'utf8')).toBe('bad');
    expect(path.isAbsolute(lake.rowsFile('orders', full!)!)).toBe(true);
    expect([lake.rowsFile('orders', empty!), lake.rejectsFile('orders', empty!)]).toEqual([null, null]);
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
    await scene.write('lake/orders/.DS_Store', 'x');
    await scene.write('lake/README', 'x');
    expect([...(await scene.reopened().slices('orders')).keys()]).toEqual(['2026-03-01']);
    await scene.reopened().recover();
    expect(await scene.files()).toEqual(expect.arrayContaining(['lake/orders/.DS_Store', 'lake/README']));
  });

  it('a pipeline that was never loaded has no slices', async () => {
    expect((await lake.slices('orders')).size).toBe(0);
    expect(await lake.recover()).toBe(false);
  });
});

describe('what becomes of a slice', () => {
  const DAY = '2026-03-01';
  const rows = (text: string) => `lake/orders/2026-03/${nameOf(DAY, text)}`;
  const held = (text: string) => `held/orders/2026-03/${nameOf(DAY, text)}`;
  const rejects = (text: string) => `rejects/orders/2026-03/${nameOf(DAY, text)}`;
  const confirm: SliceChange = { kind: 'confirm', pipeline: 'orders', day: day(DAY) };
  const release: SliceChange = { kind: 'release', pipeline: 'orders', day: day(DAY) };
  const bring = (...[kind, text, options]: [Parameters<Scene['bring']>[0], string | null, object?]) =>
    scene.bring(kind, DAY, text, options);

  beforeEach(async () => lake.commit([await bring('replace', 'first', { rejects: 'bad' })]));

  it('replaced: the new files are there, the old ones gone', async () => {
    await lake.commit([await bring('replace', 'second')]);
    expect(await entryOf(DAY)).toEqual({ content: contentOf(DAY, 'second'), ...plain, file: nameOf(DAY, 'second') });
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
      file: nameOf(DAY, 'first'),
      rejects_file: nameOf(DAY, 'first'),
      moved: false,
      held: {
        content: contentOf(DAY, 'few', { rejects: 5 }),
        file: nameOf(DAY, 'few'),
        rejects_file: nameOf(DAY, 'few'),
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
