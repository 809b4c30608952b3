/** `docs --answers` as it is typed where a warehouse answers. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readQuestions } from '../../../src/warehouse/dictionary/questions.ts';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 20, lookbackDays: 2 });
  expect((await typedIn(world, ['run'])).code).toBe(0);
});
afterAll(() => world.close());

test('--answers shows what the warehouse answers to every question', async () => {
  const out = path.join(world.home, 'answered');
  const { code, out: said, err } = await typedIn(world, ['docs', '--answers', '--out', out]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(said).toContain(', with answers\n');
  const [html, markdown] = await Promise.all(
    ['dictionary.html', 'dictionary.md'].map((name) => readFile(path.join(out, name), 'utf8')),
  );
  const questions = await readQuestions('duckdb');
  expect(html?.match(/<table class="answer">/g)).toHaveLength(questions.length);
  expect(markdown?.match(/^Answer:$/gm)).toHaveLength(questions.length);
});
