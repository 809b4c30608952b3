/** Files that are memory aids and not truth, as those under `state/`: one that is lost or damaged is as if it had never been. */
import type { ZodType } from 'zod';
import { readIfThere } from '../disk/atomic.ts';

/** What the file says; null where it is not there, or says something else than `shape`. */
export async function readState<T>(file: string, shape: ZodType<T>): Promise<T | null> {
  const text = await readIfThere(file);
  if (text === null) return null;
  try {
    return shape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // no JSON
  }
}
