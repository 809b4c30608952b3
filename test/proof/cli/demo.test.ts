/** What `npm start` runs: with the page, and on a second day. */
import { expect, test } from 'vitest';
import { addDays } from '../../../src/core/days.ts';
import { today, useDemo } from '../../cli/demo/scene.ts';

const scene = useDemo();
const { typed, demo } = scene;

test('with --page it goes on to serve the page on that data, until Ctrl-C', async () => {
  let asked: Promise<string> | null = null;
  const onOut = (text: string, end: () => void) => {
    const url = /The status page of the demo: (\S+)/.exec(text)?.[1];
    if (url === undefined || asked) return;
    asked = fetch(url).then((answer) => answer.text());
    void asked.finally(end);
  };
  const { code } = await typed(['demo', '--orders-per-day', '50', '--page', '--port', '0'], {}, onOut);
  expect(code).toBe(0);
  expect(await asked).toMatch(/<h1[^>]*>/);
  expect(await asked).toContain(`orders ${addDays(today, -1)}`);
});

test('the demo goes on to a second day, from which the readers count; what is before it is refused', async () => {
  expect((await demo()).code).toBe(0);
  const tomorrow = addDays(today, 1);
  const night = await demo('--today', tomorrow);
  expect(night.code).toBe(0);
  expect(night.out).toMatch(/[1-9][0-9]* slices changed/);
  expect(night.out).toContain(`npm start -- --today ${addDays(today, 2)}`);
  const newest = JSON.parse(
    (await typed(['sql', 'SELECT CAST(max(order_date) AS VARCHAR) AS day FROM warehouse.fact_order_item', '--json']))
      .out,
  ) as unknown;
  expect(newest).toEqual([{ day: today }]);
  expect((JSON.parse((await typed(['status', '--json'])).out) as { today: string }).today).toBe(tomorrow);
  expect((await demo()).out).toMatch(/: 0 slices changed/);
  const before = await demo('--today', today);
  expect([before.code, before.err]).toEqual([2, expect.stringContaining(`the demo has come to ${tomorrow}`)]);
});
