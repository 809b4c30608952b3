/** What the page says while something is done about a night, and that it asks no more than it must. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import { EXIT } from '../../../src/core/errors.ts';
import type { ProgramEnd, StartProgram } from '../../../src/serve/program-process.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { modelOf, openHeldWorld } from '../../serve/page/held-world.ts';
import { openPageScene } from '../../serve/page/scene.ts';
import type { World } from '../../support/nights.ts';

let world: World;
let held: Day;
beforeAll(async () => {
  ({ world, held } = await openHeldWorld());
});
afterAll(() => world.close());

it('who asks at once shares one reading, and an unchanged installation is not read again', async () => {
  const asked: string[] = [];
  const counting = await world.within(async (context) =>
    context.targets.map((target) => countingTarget(target, asked)),
  );
  const { ask } = await openPageScene(world, { context: { targets: counting } });
  await Promise.all([ask('/api/page'), ask('/'), ask('/api/page'), ask('/')]);
  const once = asked.length;
  expect(asked.filter((sql) => sql.includes('mart.reconciliation'))).toHaveLength(1);
  await world.clock.advance(10_000);
  await ask('/');
  expect(asked.length).toBe(once);
});

/** The same warehouse; tells what it is asked. */
function countingTarget(target: Target, asked: string[]): Target {
  return new Proxy(target, {
    get(whole, name) {
      const value = Reflect.get(whole, name, whole) as unknown;
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        asked.push(`${String(name)} ${String(given[0])}`);
        return Reflect.apply(value, whole, given) as unknown;
      };
    },
  });
}

it('what goes on, and what came of it, is said on the page; another thing is not begun meanwhile', async () => {
  let end: (how: ProgramEnd) => void = () => undefined;
  const begun: string[] = [];
  const start: StartProgram = (words) => {
    begun.push(words.join(' '));
    const ended = new Promise<ProgramEnd>((resolve) => {
      end = resolve;
    });
    return { ended, stop: () => end({ kind: 'lost', how: 'it was asked to stop' }), kill: () => undefined };
  };
  const { ask, post, signIn } = await openPageScene(world, { start });
  const { cookie, csrf } = await signIn();
  const release = post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  await world.clock.asleep((ms) => ms === 5_000);
  await world.clock.advance(5_000);
  expect((await release).headers.location).toBe('/');
  expect((await ask('/', { headers: { cookie } })).text).toContain(`release of orders ${held} is under way`);
  await post('/retry', { csrf, pipeline: 'orders' }, { cookie });
  expect((await ask('/', { headers: { cookie } })).text).toContain('Not begun');
  expect(begun).toEqual([`release orders ${held} --json`]);

  end({ kind: 'ended', exitCode: EXIT.locked, document: null, said: [] });
  expect((await ask('/', { headers: { cookie } })).text).toContain('another run is at work and holds the lock');
  expect((await ask('/', { headers: { cookie } })).text).not.toContain('another run is at work');
});

it('the page says of which state it was made, and /api/page names another one as soon as a reload would show something else', async () => {
  let end: (how: ProgramEnd) => void = () => undefined;
  const start: StartProgram = () => ({
    ended: new Promise<ProgramEnd>((resolve) => {
      end = resolve;
    }),
    stop: () => end({ kind: 'lost', how: 'it was asked to stop' }),
    kill: () => undefined,
  });
  const { ask, post, signIn } = await openPageScene(world, { start });
  const { cookie, csrf } = await signIn();
  const drawn = async (headers = { cookie }) => /data-version="(\w+)"/.exec((await ask('/', { headers })).text)?.[1];
  const known = async (headers = { cookie }) => (await ask('/api/page', { headers })).headers.etag;
  const before = await drawn();
  expect(await known()).toBe(`"${before}"`);
  const release = post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  await world.clock.asleep((ms) => ms === 5_000);
  await world.clock.advance(5_000);
  await release;
  const meanwhile = await drawn();
  expect(meanwhile).not.toBe(before);
  expect(await known()).toBe(`"${meanwhile}"`);
  end({ kind: 'ended', exitCode: EXIT.locked, document: null, said: [] });
  await expect.poll(() => known()).not.toBe(`"${meanwhile}"`);
  expect(await drawn()).toBe(before); // the outcome is said, and nothing else has changed
  expect(await known()).toBe(`"${before}"`);
  await post('/logout', { csrf }, { cookie });
  expect(await known()).not.toBe(`"${before}"`); // its buttons are gone
});

it('a release that is under way is asked to stop when serve ends, and waited for', async () => {
  const heard: string[] = [];
  let end: (how: ProgramEnd) => void = () => undefined;
  const start: StartProgram = () => ({
    ended: new Promise<ProgramEnd>((resolve) => {
      end = resolve;
    }),
    stop: ({ code }) => {
      heard.push(code);
      end({ kind: 'ended', exitCode: 0, document: null, said: [] });
    },
    kill: () => undefined,
  });
  const { page, post, signIn } = await openPageScene(world, { start });
  const { cookie, csrf } = await signIn();
  const release = post('/release', { csrf, pipeline: 'orders', day: held }, { cookie });
  await world.clock.asleep((ms) => ms === 5_000);
  await page.close();
  expect(heard).toEqual(['interrupted']);
  expect((await release).status).toBe(303);
});

it('retry tries again what was rejected, of one pipeline or of all', async () => {
  const { ask, post, signIn, begun } = await openPageScene(world);
  const { cookie, csrf } = await signIn();
  expect((await post('/retry', { csrf }, { cookie })).headers.location).toBe('/');
  expect(begun).toEqual(['rejects orders --retry --json']);
  expect((await ask('/', { headers: { cookie } })).text).toContain('retry of the rejects of orders');
  const { runs } = await modelOf({ ask });
  expect(runs[0]).toMatchObject({ command: 'rejects orders --retry' });
});
