/** What every plan of keys says, whatever the keys are. */
import type { DriftRecord } from '../../core/records.ts';
import type { EanReject } from '../../extract/ean-list.ts';
import type { Plan } from '../plan.ts';

export interface KeysPlan extends Plan {
  /** Of the due keys those that the night's budget leaves out. */
  readonly leftOut: number;
  /** Calls that the night may make at the most, with those for refused batches. */
  readonly callsAllowed: number;
  /** Of the list, what cannot be asked. */
  readonly rejects: readonly EanReject[];
  /** For the person who looks on. */
  readonly notes: readonly string[];
  /** Of keys that no call is made for. */
  readonly drift: readonly DriftRecord[];
}
