/**
 * Names what a page shows. The page carries its own version, and /api/page answers that of now: the script compares the two, so that what
 * changed between the making of the page and its first question is not taken for what the page shows.
 */
import { createHash } from 'node:crypto';
import type { PageModel } from './model.ts';
import type { SessionShown } from './session-shown.ts';

/** The same as long as a reload would show the same; the time of making alone is no difference. */
export function versionOf({ made_at: _, ...model }: PageModel, { csrf, waiting }: SessionShown): string {
  return createHash('sha256')
    .update(JSON.stringify([model, csrf, waiting]))
    .digest('hex')
    .slice(0, 32);
}
