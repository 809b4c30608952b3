/** The raw store as stages see it, with what keeps out of it what was erased. */
import { RawStore, type RawStoreOptions, type Warn } from '../store/raw.ts';
import { Erasures } from './erasures.ts';
import type { MaskScope } from './mask-text.ts';
import { Masker } from './masker.ts';

/** Where the list of what was erased lies, and what is looked for in the answers of each pipeline. */
export interface Masking {
  readonly stateDir: string;
  readonly scopes: ReadonlyMap<string, MaskScope>;
}

interface VaultOptions extends RawStoreOptions {
  /** Absent where nothing can have been erased. */
  readonly masking?: Masking;
}

export class Vault extends RawStore {
  declare protected readonly options: VaultOptions;
  private erasures: Promise<Erasures> | null = null;

  constructor(options: VaultOptions) {
    super(options);
  }

  /**
   * What replaces erased values in an answer of the pipeline before anybody else sees it; null while nothing is erased that could
   * stand there. So what the service sends again comes no further than the scratch folder of the run, and no stage has to know.
   * Errors: `failed/damaged_erasures`.
   */
  async masker(pipeline: string): Promise<Masker | null> {
    const { masking } = this.options;
    const scope = masking?.scopes.get(pipeline);
    if (!masking || !scope) return null;
    this.erasures ??= Erasures.read(masking.stateDir);
    const erasures = await this.erasures;
    return erasures.isEmpty ? null : new Masker(erasures, scope);
  }

  /** The same with another way to warn. */
  warning(warn: Warn): Vault {
    return new Vault({ ...this.options, warn });
  }
}
