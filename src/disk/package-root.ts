/** Where this package's own files lie: SQL, settings, the page's assets; and its version. */
import path from 'node:path';
import { assert } from '../core/errors.ts';
import { readIfThere } from './atomic.ts';

export interface PackagePlace {
  readonly root: string;
  readonly version: string;
}

/** The nearest folder above with a package.json that is ours, whether this runs from src/ or from dist/src/. */
export async function findPackage(from = import.meta.dirname): Promise<PackagePlace> {
  for (let root = from; ; root = path.dirname(root)) {
    const text = await readIfThere(path.join(root, 'package.json'));
    const found = text === null ? {} : (JSON.parse(text) as { name?: unknown; version?: unknown });
    if (found.name === 'partner-etl' && typeof found.version === 'string') return { root, version: found.version };
    assert(root !== path.dirname(root), `no package.json of partner-etl above ${from}`);
  }
}

export async function packageRoot(): Promise<string> {
  return (await findPackage()).root;
}

/** Whether the package lies in a node_modules, and not in a checkout: then the program is called by its name alone. */
export function isInstalled(root: string): boolean {
  return root.split(path.sep).includes('node_modules');
}
