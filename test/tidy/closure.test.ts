/**
 * How many files somebody has to know who follows one piece of data: those that are loaded for it, whatever they load included, without
 * those of which only types are used. The splitter of src/json is one thing with a README of its own and counts as one. The figures are
 * where they came to be: they may only fall.
 */
import { describe, expect, test } from 'vitest';
import { importsOf, sourcesIn } from './sources.ts';

const byFile = new Map(sourcesIn(['src', 'pipelines']).map((source) => [source.file, source]));

function filesLoadedFor(first: readonly string[]): string[] {
  const files = new Set<string>();
  const left = [...first];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    const source = byFile.get(file);
    if (source === undefined || files.has(file)) continue;
    files.add(file);
    left.push(...importsOf(source).flatMap(({ target, isType }) => (isType ? [] : [target])));
  }
  return [...files].sort();
}

describe('what is loaded', () => {
  test.each([
    ['for a row of a report, from its response to the lake', ['src/run/window/window.ts'], 36],
    ['for the loop itself', ['src/run/loop.ts'], 24],
    ['for all that the loop does with reports', ['src/run/loop.ts', 'src/run/sources/window.ts'], 63],
    ['for all that the loop does with push messages', ['src/run/loop.ts', 'src/run/sources/inbox.ts'], 58],
    ['for a night, with publication and every kind of source', ['src/run/night.ts'], 162],
  ])('%s', (_, first, most) => {
    for (const file of first) expect(byFile.has(file)).toBe(true);
    const files = filesLoadedFor(first);
    const own = files.filter((file) => !file.startsWith('src/json/'));
    const count = own.length + (own.length < files.length ? 1 : 0);
    console.info(`${first.join(' + ')}: ${count} files`);
    expect(count, own.join('\n')).toBeLessThanOrEqual(most);
  });
});
