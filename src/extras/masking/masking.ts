/** What keeps out of the raw store, and of every stage behind it, what was erased. */
import type { Masking } from '../../core/masking.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { Erasures } from './erasures.ts';
import { scopesOf } from './mask-text.ts';
import { ErasureMasker } from './masker.ts';
import { maskSetAside } from './refused.ts';

/** `stateDir`: where the list of what was erased lies, which is read when it is first asked for. */
export function openMasking(stateDir: string, pipelines: readonly Pipeline[]): Masking {
  const scopes = scopesOf(pipelines);
  let reading: Promise<Erasures> | null = null;
  return {
    async masker(pipeline) {
      const scope = scopes.get(pipeline);
      if (!scope) return null;
      reading ??= Erasures.read(stateDir);
      const erasures = await reading;
      return erasures.isEmpty ? null : new ErasureMasker(erasures, scope);
    },
    async setAside(inbox, masker) {
      await maskSetAside(inbox, masker);
    },
  };
}
