/** The Markdown that people read here: README and its like, and what lies under docs/. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { REPOSITORY, type Source, sourcesIn } from './sources.ts';

const AT_THE_ROOT = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

export function markdownFiles(): Source[] {
  const root = AT_THE_ROOT.map((file) => ({ file, text: readFileSync(path.join(REPOSITORY, file), 'utf8') }));
  return [...root, ...sourcesIn(['docs', 'src/json'], ['.md'])];
}
