/** A cause for an alert: what is wrong, since when, what that means, and the commands that look at it and fix it. */
import { z } from 'zod';

export const CAUSE_KINDS = [
  'run_failed',
  'refused',
  'slice_held',
  'freshness_breached',
  'push_missing',
  'drift_seen',
] as const;
export type CauseKind = (typeof CAUSE_KINDS)[number];

/** Kept in the state, so it holds only what may be in a message: no row, no raw text, nothing of a person. */
export const causeShape = z.object({
  /** The same for as long as it is the same cause: `held/orders/2026-03-01`. */
  key: z.string(),
  kind: z.enum(CAUSE_KINDS),
  /** One sentence without its full stop. */
  what: z.string(),
  since: z.iso.datetime(),
  means: z.string(),
  look: z.string(),
  fix: z.string(),
});
export type Cause = Readonly<z.infer<typeof causeShape>>;

/** Whether it is sent once and over with that, since it is nothing that lasts. */
export function isEvent({ kind }: Pick<Cause, 'kind'>): boolean {
  return kind === 'drift_seen';
}
