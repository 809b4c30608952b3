/** Messages that the receiver refused, which are kept for inspection. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Masker } from '../../core/masking.ts';
import { namesIn, writeAtomic } from '../../disk/atomic.ts';

/** Replaces erased values in them; `inbox`: its folder. Returns in how many. */
export async function maskSetAside(inbox: string, masker: Masker, isDryRun = false): Promise<number> {
  const refusals = path.join(inbox, 'refused');
  let files = 0;
  for (const name of await namesIn(refusals))
    files += await rewrite(path.join(refusals, name), isDryRun, (bytes) => maskRefused(bytes, masker));
  return files;
}

const refused = z.looseObject({
  detail: z.string().nullable(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  bodyBase64: z.string(),
});

/** A file of the receiver that is none of that shape is taken as text. */
function maskRefused(bytes: Buffer, masker: Masker): Uint8Array {
  const document = refused.safeParse(jsonIn(bytes.toString('utf8'))).data;
  if (!document) return masker.mask(bytes);
  const body = Buffer.from(document.bodyBase64, 'base64');
  const masked = Buffer.from(masker.mask(body));
  const detail = document.detail && masker.words(document.detail);
  const headers = document.headers.map(([name, value]) => [name, masker.words(value)]);
  if (masked.equals(body) && detail === document.detail && JSON.stringify(headers) === JSON.stringify(document.headers))
    return bytes;
  const fresh = { ...document, detail, headers, bodyBytes: masked.length, bodyBase64: masked.toString('base64') };
  return Buffer.from(`${JSON.stringify(fresh, null, 1)}\n`);
}

/** Replaces the file where `mask` makes other bytes of it, with the rights that it has; returns 1 where it does. */
async function rewrite(file: string, isDryRun: boolean, mask: (bytes: Buffer) => Uint8Array): Promise<number> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null; // whoever owns it has deleted it since
    throw error;
  });
  if (bytes === null) return 0;
  const masked = mask(bytes);
  if (masked === bytes) return 0;
  if (!isDryRun) await writeAtomic(file, masked, { mode: (await stat(file)).mode & 0o777 });
  return 1;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
