/** Where this package's own files lie: SQL, settings, the page's assets. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { EtlError } from '../core/errors.ts';
import { readIfThere } from './atomic.ts';

/** The folder of this package, whether this runs from src/ or from dist/src/. */
export async function packageRoot(): Promise<string> {
  const start = path.dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = path.dirname(folder)) {
    const text = await readIfThere(path.join(folder, 'package.json'));
    if (text !== null && (JSON.parse(text) as { name?: string }).name === 'partner-etl') return folder;
    if (folder === path.dirname(folder))
      throw new EtlError('bug', 'package_root', `no package.json of partner-etl above ${start}`);
  }
}
