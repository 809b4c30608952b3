/**
 * Which layout a home directory has: `layout.json` in it, `{"layout": 2}`. Without that file it is 1, the first and so far the only
 * one, and nothing is written. A program that lays vault, inbox or state out so that older ones would misread them writes the
 * file first; the lake's manifests and the warehouses have marks of their own as well.
 */
import path from 'node:path';
import { z } from 'zod';
import { EtlError } from '../core/errors.ts';
import { readIfThere } from './atomic.ts';

/** What this program reads and writes. */
const HOME_LAYOUT = 1;

const shape = z.object({ layout: z.int().positive() });

/** Errors: `failed/newer_home` for one that only a newer program can read. */
export async function checkHomeLayout(root: string): Promise<void> {
  const file = path.join(root, 'layout.json');
  const text = await readIfThere(file);
  if (text === null) return;
  const layout = layoutIn(text);
  if (layout !== null && layout <= HOME_LAYOUT) return;
  const why =
    layout === null ? 'says no number of a layout' : `says layout ${layout}, and this program knows ${HOME_LAYOUT}`;
  throw new EtlError('failed', 'newer_home', `the home directory was written by a newer partner-etl: ${file} ${why}`, {
    concern: { file },
    hint: 'update this partner-etl, or set PARTNER_ETL_HOME to another folder',
  });
}

function layoutIn(text: string): number | null {
  try {
    return shape.safeParse(JSON.parse(text)).data?.layout ?? null;
  } catch {
    return null; // no JSON
  }
}
