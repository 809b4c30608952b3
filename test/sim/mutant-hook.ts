/** The hook of mutant-loader.ts, which runs in a thread of its own. */
import type { LoadHook } from 'node:module';
import type { Mutant } from './mutant-list.ts';
import { mutated } from './mutate.ts';

let mutant: Mutant | null = null;

export function initialize(data: Mutant): void {
  mutant = data;
}

export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  if (mutant === null || !url.endsWith(`/${mutant.file.replace(/\.ts$/, '.js')}`)) return loaded;
  return { ...loaded, source: mutated(mutant, String(loaded.source), url) };
};
