/** The one place that knows which implementation a kind of source has. */
import { assert } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { fileSource } from './file.ts';
import { inboxSource } from './inbox.ts';
import { keysSource } from './keys.ts';
import { listSource } from './list.ts';
import type { Source } from './source.ts';
import { windowSource } from './window.ts';

const SOURCES: Readonly<Record<string, Source>> = {
  window: windowSource,
  keys: keysSource,
  file: fileSource,
  list: listSource,
  inbox: inboxSource,
};

/** A mistake of ours for a child: it comes with the answers of its parent. */
export function sourceOf({ name, source }: Pipeline): Source {
  const found = SOURCES[source.kind];
  assert(found, `${name} has no source of its own`);
  return found;
}
