/** What a check of `doctor` finds. */
import { asEtlError } from '../../core/errors.ts';

export type CheckState = 'ok' | 'warning' | 'broken' | 'skipped';

export interface Finding {
  readonly state: CheckState;
  readonly detail: string;
  /** What the operator does about it; null when there is nothing to do. */
  readonly fix: string | null;
}

export interface NamedFinding extends Finding {
  readonly check: string;
}

export async function guarded(look: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (thrown) {
    const error = asEtlError(thrown);
    return broken(error.message, error.hint ?? 'see the message');
  }
}

export function ok(detail: string): Finding {
  return { state: 'ok', detail, fix: null };
}

export function warning(detail: string, fix: string): Finding {
  return { state: 'warning', detail, fix };
}

export function broken(detail: string, fix: string): Finding {
  return { state: 'broken', detail, fix };
}

export function skipped(detail: string): Finding {
  return { state: 'skipped', detail, fix: null };
}
