/**
 * What the page loads besides its HTML: the style sheets, the browser's script, an icon, and uPlot from its package. All names hold
 * one hash of all contents, so that a name never changes what it stands for, and modules that import each other need no order.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { assert } from '../../../core/errors.ts';

export interface Asset {
  /** The media type. */
  readonly type: string;
  readonly body: string | Buffer;
}

/** By the name under /assets. Read from the package when it is asked for first. */
export function assets(): ReadonlyMap<string, Asset> {
  return loaded().byName;
}

/** The path of an asset by the plain name of its file, e.g. `page.css`. */
export function assetPath(file: AssetFile): string {
  return `/assets/${hashed(file, loaded().hash)}`;
}

const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

const TYPES = {
  'page.css': CSS,
  'calendar.css': CSS,
  'sections.css': CSS,
  'uplot.css': CSS,
  'icon.svg': 'image/svg+xml',
  'page.js': SCRIPT,
  'calendar.js': SCRIPT,
  'cell-dialog.js': SCRIPT,
  'curves.js': SCRIPT,
  'uplot.js': SCRIPT,
} as const;

type AssetFile = keyof typeof TYPES;

interface Loaded {
  readonly hash: string;
  readonly byName: ReadonlyMap<string, Asset>;
}

let kept: Loaded | null = null;

function loaded(): Loaded {
  kept ??= load();
  return kept;
}

function load(): Loaded {
  const files = Object.keys(TYPES) as AssetFile[];
  const texts = files.map((file) => readFileSync(placeOf(file), 'utf8'));
  const hash = createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 12);
  const entries = files.map((file, i) => {
    const body = TYPES[file] === SCRIPT ? withHashedImports(texts[i]!, hash) : texts[i]!;
    return [hashed(file, hash), { type: TYPES[file], body }] as const;
  });
  return { hash, byName: new Map(entries) };
}

/** `page.js` → `page.0a1b2c3d4e5f.js` */
function hashed(file: string, hash: string): string {
  const { name, ext } = path.parse(file);
  return `${name}.${hash}${ext}`;
}

/** A package is imported by its name, which type checks know; the browser finds it beside the other files. */
function withHashedImports(text: string, hash: string): string {
  return text.replaceAll(
    /(\bfrom |\bimport\()'(?:\.\/)?([a-z-]+)(?:\.js)?'/g,
    (_, words, name) => `${words}'./${name}.${hash}.js'`,
  );
}

function placeOf(file: AssetFile): string {
  const { resolve } = createRequire(import.meta.url);
  if (file === 'uplot.js') return resolve('uplot/dist/uPlot.esm.js');
  if (file === 'uplot.css') return resolve('uplot/dist/uPlot.min.css');
  return path.join(assetsFolder(), file);
}

/** They are no TypeScript and stay where they are, whether this runs from src/ or from dist/src/. */
function assetsFolder(): string {
  for (let folder = import.meta.dirname; ; folder = path.dirname(folder)) {
    const found = path.join(folder, 'src', 'serve', 'page', 'assets');
    if (existsSync(path.join(found, 'page.css'))) return found;
    assert(folder !== path.dirname(folder), `no src/serve/page/assets above ${import.meta.dirname}`);
  }
}
