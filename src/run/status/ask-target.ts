/** A question that any of the targets can answer, since all of them hold the same. */
import { asEtlError } from '../../core/errors.ts';
import type { QueryResult } from '../../warehouse/target.ts';
import type { RunContext } from '../context.ts';

export interface Asked {
  /** null: no target holds anything yet, or none can be asked. */
  readonly result: QueryResult | null;
  /** Why there is no result. */
  readonly error: string | null;
}

/** Asks the first target that can be asked; at most `limit` rows. */
export async function askTarget({ targets }: Pick<RunContext, 'targets'>, sql: string, limit: number): Promise<Asked> {
  const errors: string[] = [];
  for (const target of targets) {
    try {
      if (await target.exists()) return { result: await target.query(sql, limit), error: null };
    } catch (thrown) {
      errors.push(`${target.name}: ${asEtlError(thrown).message}`);
    }
  }
  return { result: null, error: errors.length > 0 ? errors.join('; ') : 'nothing is loaded yet' };
}
