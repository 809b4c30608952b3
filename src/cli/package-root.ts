/** Where the package lies, and its version: the nearest folder above with a package.json that is ours. */
import path from 'node:path';
import { assert } from '../core/errors.ts';
import { readIfThere } from '../disk/atomic.ts';

export interface PackagePlace {
  readonly root: string;
  readonly version: string;
}

/** Whether the package lies in a node_modules, and not in a checkout: then the program is called by its name alone. */
export function isInstalled(root: string): boolean {
  return root.split(path.sep).includes('node_modules');
}

export async function findPackage(from: string): Promise<PackagePlace> {
  for (let root = from; ; root = path.dirname(root)) {
    const text = await readIfThere(path.join(root, 'package.json'));
    const found = text === null ? {} : (JSON.parse(text) as { name?: unknown; version?: unknown });
    if (found.name === 'partner-etl' && typeof found.version === 'string') return { root, version: found.version };
    assert(root !== path.dirname(root), `no package.json of partner-etl above ${from}`);
  }
}
