/** What keeps out of the raw store, and of every stage behind it, what was erased. */
import type { Masking } from '../../core/masking.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { StateDb } from '../../store/state.ts';
import { countErased } from '../../store/tables/erased.ts';
import { Erasures } from './erasures.ts';
import { scopesOf } from './mask-text.ts';
import { ErasureMasker } from './masker.ts';
import { maskSetAside } from './refused.ts';

/** The list is read again whenever it has grown: another process, or another host, erases while this one serves. */
export function openMasking(db: StateDb, pipelines: readonly Pipeline[]): Masking {
  const scopes = scopesOf(pipelines);
  let known: Erasures | null = null;
  return {
    async masker(pipeline) {
      const scope = scopes.get(pipeline);
      if (!scope) return null;
      const size = await countErased(db);
      if (size === 0) return null;
      if (known?.size !== size) known = await Erasures.read(db);
      return new ErasureMasker(known, scope);
    },
    async setAside(inbox, masker) {
      await maskSetAside(inbox, masker);
    },
  };
}
