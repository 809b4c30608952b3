/** What verify says of packs and records of look-ups and lists that are damaged or gone: which file, and where it comes back from. */
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { verify } from '../../../src/run/verify.ts';
import { listEans, openLookupWorld } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { openStateWorld, subscribe } from '../../support/states.ts';

let world: World;
beforeEach(async () => {
  world = await openLookupWorld({ rates: {} });
  await listEans(world, world.sandbox.eans(3));
  await rates();
});
afterEach(() => world.close());

const rates = () => world.night({ names: ['commission-rates'] });

it('a pack that lost what no slice stands on, and where it comes back from', async () => {
  world.passDays(1);
  await rates();
  const [pack] = (await readdir(path.join(world.home, 'vault/commission-rates/packs/2026-03'))).slice(-1);
  await truncate(path.join(world.home, 'vault/commission-rates/packs/2026-03', pack!), 30);
  const { differences, warnings } = await world.within(verify);
  expect(differences).toEqual([]);
  const file = `vault/commission-rates/packs/2026-03/${pack}`;
  const replay = 'partner-etl replay commission-rates --from 2026-03-21 --to 2026-03-21';
  expect(warnings).toMatchObject([
    { hop: 'vault', day: '2026-03-21', mend: `restore ${file} from a backup, then ${replay}` },
  ]);
  expect(warnings[0]?.problem).toContain(file);
});

it.each([
  ['ends before', (pack: string) => truncate(pack, 30)],
  ['is gone with', (pack: string) => rm(pack)],
])('a pack that %s an answer on which slices stand', async (_, damage) => {
  const folder = 'vault/commission-rates/packs/2026-03';
  const [name] = await readdir(path.join(world.home, folder));
  const pack = path.join(folder, name!);
  await damage(path.join(world.home, pack));
  const { differences, warnings } = await world.within(verify);
  expect(differences).toMatchObject([
    {
      problem: expect.stringMatching(new RegExp(`${pack} ends before the answer of fetch \\w+, which is left out$`)),
      mend: `restore ${pack} from a backup; the rows themselves are in the lake`,
    },
  ]);
  expect(warnings).toEqual([]);
});

it('the records of a run where one is not as it was written, or they are gone', async () => {
  const folder = path.join(world.home, 'vault/commission-rates/fetches/2026-03');
  const [name] = await readdir(folder);
  const file = path.join(folder, name!);
  const records = path.relative(world.home, file);
  const text = await readFile(file, 'utf8');
  const id = /"fetch_id":"(\w+)"/.exec(text)![1]!;
  const told = {
    problem: `the record of fetch ${id} is missing or damaged: ${records}`,
    mend: `restore ${records} from a backup; the rows themselves are in the lake`,
  };
  for (const [member, letter] of [
    ['sha256', '~'],
    ['fetch_id', 'g'],
    ['finished_at', '1'],
  ]) {
    const damaged = text.replace(new RegExp(`("${member}":").`), `$1${letter}`);
    expect(damaged).not.toBe(text);
    await writeFile(file, damaged);
    expect((await world.within(verify)).differences).toMatchObject([told]);
  }
  await rm(file);
  expect((await world.within(verify)).differences).toMatchObject([told]);
});

it('a list that said nothing new, and where it comes back from', async () => {
  const lists = await openStateWorld();
  onTestFinished(() => lists.close());
  const night = () => lists.night({ names: ['subscriptions'] });
  await subscribe(lists);
  await night();
  lists.passDays(1);
  expect((await night()).run.summary).toMatchObject({ calls: 1, slices_changed: 0 });
  const folder = 'vault/subscriptions/packs/2026-03';
  const names = await readdir(path.join(lists.home, folder));
  expect(names).toHaveLength(2);
  const pack = path.join(folder, names.sort()[1]!);
  const bytes = await readFile(path.join(lists.home, pack));
  const damaged = Buffer.from(bytes);
  damaged[damaged.length - 12]! ^= 1;
  await writeFile(path.join(lists.home, pack), damaged);
  expect(await lists.within(verify)).toMatchObject({
    differences: [],
    warnings: [
      {
        hop: 'vault',
        day: '2026-03-21',
        problem: expect.stringContaining(pack),
        mend: `restore ${pack} from a backup, then partner-etl replay subscriptions --from 2026-03-21 --to 2026-03-21`,
      },
    ],
  });
  await writeFile(path.join(lists.home, pack), bytes);
  expect(await lists.within(verify)).toMatchObject({ differences: [], warnings: [] });
});
