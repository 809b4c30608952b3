/** What a crash can leave on disk, made by hand: the next process ends with the lake of an undisturbed one, and nothing else. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Day } from '../../src/core/days.ts';
import { Lake, type SliceChange } from '../../src/lake/lake.ts';
import type { State } from '../../src/store/state.ts';
import { digestOf, fileOf, openScene, type Scene, TABLES } from './scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

type Tree = Record<string, string>;

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
    { kind: 'release', pipeline: 'orders', day: '2026-03-01' as Day },
    await of.bring('amend', '2026-03-02', 'tw'),
    await of.bring('replace', '2026-04-01', 'THREE', { rejects: 'worse' }),
    await of.bring('replace', '2026-05-01', 'five'),
  ];
}

/** What an undisturbed lake holds before and after the commit. */
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

const digests = async () =>
  [...(await scene.reopened().slices('orders'))].map(([day, { content }]) => [day, content.digest]);

/** The lake of a process that dies when its files are in place, before the transaction. */
function dyingLake(): Lake {
  const write = (): Promise<never> => Promise.reject(new Error('killed'));
  const state: State = { ...scene.state, write };
  return new Lake({
    root: scene.root,
    state,
    pipelines: Object.entries(TABLES).map(([name, table]) => ({ name, table })),
  });
}

describe('cut off before the transaction', () => {
  beforeEach(async () => {
    await fill(scene);
    await expect(dyingLake().commit(await changes(scene))).rejects.toThrow('killed');
  });

  it('nothing has changed, and the files that nobody names go when the next run begins', async () => {
    const { old } = await undisturbed();
    await scene.write(`${fileOf('held', '2026-03-09', 'x')}.tmp`, 'half a file');
    expect((await digests()).map(([, digest]) => digest)).toEqual(['one', 'two', 'three'].map(digestOf));
    await scene.reopened().sweep();
    // A month of which the table knows nothing is left alone: its files may be all that there is.
    expect(await scene.tree()).toEqual({ ...old, [fileOf('lake', '2026-05-01', 'five')]: 'five' });
  });

  it('the commit is made again: the lake is that of an undisturbed one', async () => {
    const { done } = await undisturbed();
    await scene.reopened().sweep();
    await scene.reopened().commit(await changes(scene));
    expect(await scene.tree()).toEqual(done);
  });

  it('another commit to the same months leaves nothing of it', async () => {
    const lake = scene.reopened();
    await lake.commit([
      await scene.bring('replace', '2026-03-03', 'other'),
      await scene.bring('replace', '2026-04-02', 'other'),
      await scene.bring('replace', '2026-05-02', 'other'),
    ]);
    expect(await scene.files()).toEqual(
      [
        fileOf('held', '2026-03-01', 'few'),
        fileOf('lake', '2026-03-01', 'one'),
        fileOf('lake', '2026-03-02', 'two'),
        fileOf('lake', '2026-03-03', 'other'),
        fileOf('lake', '2026-04-01', 'three'),
        fileOf('lake', '2026-04-02', 'other'),
        fileOf('lake', '2026-05-02', 'other'),
        fileOf('rejects', '2026-03-02', 'two'),
      ].sort(),
    );
  });

  it('the Lake whose commit failed says what is true, and can go on', async () => {
    const lake = dyingLake();
    await expect(lake.commit(await changes(scene))).rejects.toThrow('killed');
    expect([...(await lake.slices('orders')).values()].map(({ content }) => content.digest)).toEqual(
      ['one', 'two', 'three'].map(digestOf),
    );
  });
});

describe('cut off after the transaction', () => {
  it('the superseded files go when the next run begins', async () => {
    const { old, done } = await undisturbed();
    await fill(scene);
    await scene.reopened().commit(await changes(scene));
    for (const [name, text] of Object.entries(old)) await scene.write(name, text);
    await scene.reopened().sweep();
    expect(await scene.tree()).toEqual(done);
  });
});

it('files of a lake whose table is lost stay when a run begins', async () => {
  await fill(scene);
  const tree = await scene.tree();
  for (const table of ['slice', 'hold'] as const) await scene.state.write((tx) => tx.deleteFrom(table).execute());
  await scene.reopened().sweep();
  expect(await scene.tree()).toEqual(tree);
});
