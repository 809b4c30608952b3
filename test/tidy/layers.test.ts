import { describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { importsOf, sourcesIn, withoutComments } from './sources.ts';

/** Who may import whom, besides itself and packages. Imports point one way: downwards in this table. */
const STAGE = ['core', 'json', 'engine', 'disk', 'store'];
const STAGES = ['partner', 'sources', 'extract', 'normalise', 'lake', 'warehouse'];
const RUN = [...STAGE, ...STAGES, 'pipelines'];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  pipelines: ['core'],
  sandbox: ['core'],
  json: [],
  engine: ['core'],
  disk: ['core', 'engine'],
  store: ['core', 'disk'],
  partner: STAGE,
  sources: STAGE,
  extract: [...STAGE, 'partner', 'sources'],
  normalise: STAGE,
  lake: STAGE,
  warehouse: STAGE,
  docs: [...STAGE, 'warehouse'],
  config: ['core', 'partner', 'pipelines'],
  run: [...RUN, 'config'],
  // What the loop does not need: nothing in it knows these.
  extras: [...RUN, 'config', 'run'],
  app: [...RUN, 'config', 'run', 'extras'],
  serve: [...RUN, 'config', 'run', 'app'],
  cli: [...RUN, 'config', 'run', 'extras', 'app', 'serve', 'sandbox', 'docs'],
  main: ['core', 'disk', 'cli'],
};

/** `src/cli/commands/run.ts` → cli, `src/config.ts` and `src/config/schema/settings.ts` → config, `pipelines/orders.ts` → pipelines. */
function layerOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return first === 'src' ? second.replace(/\.ts$/, '') : first;
}

const sources = sourcesIn(['src', 'pipelines']);
const links = sources.flatMap((source) =>
  importsOf(source)
    .filter(({ target }) => target.endsWith('.ts'))
    .map((found) => ({ from: source.file, ...found })),
);

describe('layers', () => {
  test('enough modules and imports were seen for the rest to mean something', () => {
    expect(sources.length).toBeGreaterThan(30);
    expect(links.length).toBeGreaterThan(100);
  });

  test('every file belongs to a layer of the table', () => {
    const strangers = sources.map(({ file }) => file).filter((file) => !(layerOf(file) in MAY_IMPORT));
    expect(strangers).toEqual([]);
  });

  test('imports point one way', () => {
    const wrong = links.filter(({ from, target }) => {
      const layer = layerOf(from);
      return layer !== layerOf(target) && !MAY_IMPORT[layer]?.includes(layerOf(target));
    });
    expect(wrong.map(({ from, target }) => `${from} → ${target}`)).toEqual([]);
  });

  test('the table itself has no cycle', () => {
    const order = Object.keys(MAY_IMPORT);
    const upwards = order.flatMap((layer, i) => MAY_IMPORT[layer]!.filter((below) => order.indexOf(below) >= i));
    expect(upwards).toEqual([]);
  });

  test('every import of ours names a file that exists', () => {
    const files = new Set(sources.map(({ file }) => file));
    expect(links.filter(({ target }) => !files.has(target)).map(({ from, target }) => `${from} → ${target}`)).toEqual(
      [],
    );
  });

  test('only sources know what kind of source a pipeline has', () => {
    const knows = /\bsource\??\.(?:kind|keys)\b|\{[^}]*\bkind\b[^}]*\} = \w+\.source\b/;
    const may = /^src\/(?:core\/(?:pipeline|source)\.ts|sources\/|run\/sources\/|run\/keys\/)/;
    const others = sources.filter(({ file, text }) => !may.test(file) && knows.test(withoutComments(text)));
    expect(others.map(({ file }) => file)).toEqual([]);
  });

  test('pipelines are named by their declarations alone', () => {
    // Those of two words: `orders` or `subscriptions` are words of the service too.
    const names = pipelines.flatMap(({ name }) => (name.includes('-') ? name : []));
    const literal = new RegExp(`['"\`](?:${names.join('|')})['"\`]`);
    const own = sources.filter(({ file }) => file.startsWith('src/') && !file.startsWith('src/sandbox/'));
    expect(own.flatMap(({ file, text }) => (literal.test(withoutComments(text)) ? file : []))).toEqual([]);
  });

  test('no module imports itself in a circle', () => {
    expect(circles()).toEqual([]);
  });
});

/** Circles of imports, also of types alone, each once, by the way around it. */
function circles(): string[] {
  const targets = new Map(sources.map(({ file }) => [file, links.filter((l) => l.from === file)]));
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) {
      found.push([...way.slice(way.indexOf(file)), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const { target } of targets.get(file) ?? []) visit(target, [...way, file]);
    done.add(file);
  };
  for (const { file } of sources) visit(file, []);
  return found;
}
