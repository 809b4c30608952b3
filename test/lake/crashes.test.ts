/** What a crash can leave on disk, made by hand: the next process ends with the lake of an undisturbed one, and nothing else. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Day } from '../../src/core/days.ts';
import type { SliceChange } from '../../src/lake/lake.ts';
import { nameOf, openScene, type Scene } from './scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

type Tree = Record<string, string>;

const JOURNAL = 'manifests/journal.json';

/** A lake with two months, and a commit that changes both: replaces, holds, amends, brings a new month. */
async function fill(of: Scene): Promise<void> {
  await of
    .reopened()
    .commit([
      await of.bring('replace', '2026-03-01', 'one'),
      await of.bring('replace', '2026-03-02', 'two', { rejects: 'bad' }),
      await of.bring('replace', '2026-04-01', 'three'),
      await of.bring('hold', '2026-03-01', 'few'),
    ]);
}

async function changes(of: Scene): Promise<SliceChange[]> {
  return [
    { kind: 'release', pipeline: 'orders', day: '2026-03-01' as never },
    await of.bring('amend', '2026-03-02', 'tw'),
    await of.bring('replace', '2026-04-01', 'THREE', { rejects: 'worse' }),
    await of.bring('replace', '2026-05-01', 'five'),
  ];
}

/** The trees before and after the commit, from an undisturbed lake of its own. */
async function undisturbed(): Promise<{ readonly old: Tree; readonly done: Tree }> {
  const other = await openScene();
  try {
    await fill(other);
    const old = await other.tree();
    await other.reopened().commit(await changes(other));
    return { old, done: await other.tree() };
  } finally {
    await other.close();
  }
}

/** The journal that the commit writes: the manifests as they are to be. */
function journalOf(done: Tree): string {
  const manifests = Object.entries(done).filter(([name]) => name.startsWith('manifests/'));
  const months = manifests.map(([name, text]) => [name.slice('manifests/'.length, -'.json'.length), JSON.parse(text)]);
  return JSON.stringify({ layout: 1, months: Object.fromEntries(months) });
}

const isParquet = ([name]: [string, string]) => name.endsWith('.parquet');

/** Puts files where the commit puts them before anything else: those that are new, beside those that were there. */
async function placeFiles({ done }: { done: Tree }): Promise<void> {
  for (const [name, text] of Object.entries(done).filter(isParquet)) await scene.write(name, text);
}

describe('before the journal', () => {
  it('files are in place, and nobody names them: they go, and the lake is as it was', async () => {
    const { old, done } = await undisturbed();
    await fill(scene);
    await placeFiles({ done });
    await scene.write('held/orders/2026-03/2026-03-09.abc.parquet.tmp', 'half a file');
    await scene.write('manifests/orders/.2026-03.json.1a2b3c.tmp', '{');
    await scene.write('manifests/.journal.json.1a2b3c.tmp', '{"layout":1');
    expect(await scene.reopened().recover()).toBe(false);
    const left = await scene.tree();
    // A month without a manifest is left alone: its files may be all that there is.
    const fresh = `lake/orders/2026-05/${nameOf('2026-05-01', 'five')}`;
    expect(left).toEqual({ ...old, [fresh]: 'five' });
  });

  it('the commit is made again: the lake is that of an undisturbed one', async () => {
    const { done } = await undisturbed();
    await fill(scene);
    await placeFiles({ done });
    await scene.reopened().recover();
    await scene.reopened().commit(await changes(scene));
    expect(await scene.tree()).toEqual(done);
  });

  it('in a new month another commit than the one that was cut off leaves nothing of that one', async () => {
    await scene.write(`lake/orders/2026-05/${nameOf('2026-05-01', 'stray')}`, 'stray');
    await scene.reopened().recover();
    await scene.reopened().commit([await scene.bring('replace', '2026-05-02', 'other')]);
    expect(await scene.files()).toEqual([`lake/orders/2026-05/${nameOf('2026-05-02', 'other')}`]);
  });
});

describe('after the journal', () => {
  const manifests = ['2026-03', '2026-04', '2026-05'].map((month) => `manifests/orders/${month}.json`);
  const states: [string, string[]][] = [
    ['no manifest is changed', []],
    ['one of three manifests is changed', manifests.slice(0, 1)],
    ['another one of them', manifests.slice(2)],
    ['two are', manifests.slice(0, 2)],
    ['all are', manifests],
  ];

  it.each(states)('%s: the commit is carried through', async (_, changed) => {
    const { done } = await undisturbed();
    await fill(scene);
    await placeFiles({ done });
    await scene.write(JOURNAL, journalOf(done));
    for (const name of changed) await scene.write(name, done[name]!);
    expect(await scene.reopened().recover()).toBe(true);
    expect(await scene.tree()).toEqual(done);
    expect(await scene.reopened().recover()).toBe(false);
    expect(await scene.tree()).toEqual(done);
  });

  it('the journal is gone, and the old files are not: they go', async () => {
    const { old, done } = await undisturbed();
    for (const [name, text] of Object.entries({ ...old, ...done })) await scene.write(name, text);
    expect(await scene.reopened().recover()).toBe(false);
    expect(await scene.tree()).toEqual(done);
  });

  it('what was read before is not what is true after: the Lake that recovers says the new', async () => {
    const { done } = await undisturbed();
    await fill(scene);
    const lake = scene.reopened();
    expect((await lake.slices('orders')).size).toBe(3);
    await placeFiles({ done });
    await scene.write(JOURNAL, journalOf(done));
    await lake.recover();
    expect((await lake.slices('orders')).size).toBe(4);
  });

  it('a commit that failed half way in this process is carried through by the next commit, and not forgotten', async () => {
    const { done } = await undisturbed();
    await fill(scene);
    await placeFiles({ done });
    await scene.write(JOURNAL, journalOf(done));
    await scene.reopened().commit([await scene.bring('replace', '2026-04-02', 'more')]);
    const slices = await scene.reopened().slices('orders');
    expect([...slices.keys()]).toEqual(['2026-03-01', '2026-03-02', '2026-04-01', '2026-04-02', '2026-05-01']);
    expect((await scene.files()).filter((name) => name.includes('/orders/2026-04/'))).toEqual([
      `lake/orders/2026-04/${nameOf('2026-04-01', 'THREE')}`,
      `lake/orders/2026-04/${nameOf('2026-04-02', 'more')}`,
      `rejects/orders/2026-04/${nameOf('2026-04-01', 'THREE')}`,
    ]);
  });
});

describe('damage is told by the file’s name', () => {
  const manifest = 'manifests/orders/2026-03.json';
  const damages: [string, (text: string) => string][] = [
    ['cut off', (text) => text.slice(0, 100)],
    ['empty', () => ''],
    ['no layout', (text) => text.replace('"layout": 1', '"layout": 0')],
    ['a day without content', (text) => text.replace('"content"', '"contents"')],
    ['a file name that leads out of the lake', (text) => text.replace(/"file": "[^"]+"/, '"file": "../../x.parquet"')],
    ['a file of other content', (text) => text.replace(/("file": "2026-03-\d\d\.)[0-9a-f]/, '$1x')],
    ['a digest of other content', (text) => text.replace(/("digest": ")[0-9a-f]/, '$1e')],
    ['a day under the name of another one', (text) => text.replace(/("day": "2026-03-)\d\d/, '$131')],
    ['a count that is none', (text) => text.replace(/"rows": \d+/, '"rows": "many"')],
  ];

  it.each(damages)('a manifest that is damaged: %s', async (_, damage) => {
    await fill(scene);
    await scene.write(manifest, damage((await scene.tree())[manifest]!));
    const file = path.join(scene.root, manifest);
    const refusal = {
      kind: 'failed',
      code: 'damaged_manifest',
      concern: { file },
      hint: expect.stringContaining('partner-etl replay orders --from 2026-03-01 --to 2026-03-31'),
    };
    await expect(scene.reopened().slices('orders')).rejects.toMatchObject(refusal);
    await expect(scene.reopened().commit(await changes(scene))).rejects.toMatchObject(refusal);
    expect((await scene.reopened().slices('promotions')).size).toBe(0);
  });

  it('a damaged manifest that is set aside: its files stay until its slices are made again, and then it goes', async () => {
    await fill(scene);
    const before = await scene.tree();
    await scene.write(manifest, '{');
    const march = { from: '2026-03-05' as Day, to: '2026-03-20' as Day };
    const lake = scene.reopened();
    expect(await lake.setAsideDamaged('orders', march)).toEqual(['2026-03']);
    expect([...(await lake.slices('orders')).keys()]).toEqual(['2026-04-01']);
    await lake.commit([await scene.bring('replace', '2026-03-30', 'other')]);
    // Also after a kill, for the next replay.
    const next = scene.reopened();
    expect(await next.setAsideDamaged('orders', march)).toEqual(['2026-03']);
    expect(await scene.files()).toEqual(
      expect.arrayContaining(Object.keys(before).filter((n) => n.endsWith('.parquet'))),
    );
    await next.dropDamaged('orders', march);
    expect(await next.setAsideDamaged('orders', march)).toEqual([]);
    const left = (await scene.files()).filter((name) => name.includes('/orders/2026-03/'));
    expect(left).toEqual([`lake/orders/2026-03/${nameOf('2026-03-30', 'other')}`]);
  });

  it('a manifest of a later layout is a newer program’s, and is not to be deleted', async () => {
    await fill(scene);
    await scene.write(manifest, (await scene.tree())[manifest]!.replace('"layout": 1', '"layout": 2'));
    const refusal = { kind: 'failed', code: 'newer_lake', hint: expect.stringContaining('update this partner-etl') };
    await expect(scene.reopened().slices('orders')).rejects.toMatchObject(refusal);
    await expect(scene.reopened().commit(await changes(scene))).rejects.toMatchObject(refusal);
  });

  it('recovering leaves the month of a damaged manifest as it is', async () => {
    await fill(scene);
    await scene.write(manifest, '{');
    const tree = await scene.tree();
    expect(await scene.reopened().recover()).toBe(false);
    expect(await scene.tree()).toEqual(tree);
  });

  it('a journal that is damaged stops everything before anything is changed', async () => {
    await fill(scene);
    await scene.write(JOURNAL, '{"layout":1,"months":{"orders/2026-03":{}}}');
    const tree = await scene.tree();
    const refusal = { code: 'damaged_manifest', concern: { file: path.join(scene.root, JOURNAL) } };
    await expect(scene.reopened().recover()).rejects.toMatchObject(refusal);
    expect(await scene.tree()).toEqual(tree);
  });

  it('a manifest that was deleted: its slices are missing, and loading them again mends the month', async () => {
    await fill(scene);
    const tree = await scene.tree();
    await rm(path.join(scene.root, manifest));
    expect([...(await scene.reopened().slices('orders')).keys()]).toEqual(['2026-04-01']);
    await scene.reopened().recover();
    await fill(scene);
    expect(await scene.tree()).toEqual(tree);
  });
});
