/** What an answer that is an error says for itself, made fit for a message. Any content type, any shape, any length. */
import { gunzipSync, constants as zlib } from 'node:zlib';
import { z } from 'zod';
import { LIMITS } from '../core/limits.ts';
import { foreignText } from '../core/redact.ts';

/** Characters of foreign text in one message. */
const MESSAGE_CHARACTERS = 300;

const text = z.string().optional().catch(undefined);
const problemShape = z.object({
  title: text,
  detail: text,
  // OAuth answers say it in these two.
  error: text,
  error_description: text,
  violations: z
    .array(z.object({ name: text, reason: text }).catch({ name: undefined, reason: undefined }))
    .optional()
    .catch(undefined),
});

export interface BoundedBody {
  readonly bytes: Buffer;
  /** `cut`: it was longer than the limit. `broken`: it ended before its end. */
  readonly end: 'whole' | 'cut' | 'broken';
}

/** The bytes of a body up to a limit, however it ends. Never throws. */
export async function boundedBody(body: AsyncIterable<Uint8Array>, mostBytes: number): Promise<BoundedBody> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > mostBytes) return { bytes: Buffer.concat(chunks).subarray(0, mostBytes), end: 'cut' };
    }
  } catch {
    return { bytes: Buffer.concat(chunks), end: 'broken' };
  }
  return { bytes: Buffer.concat(chunks), end: 'whole' };
}

/** The message in an error body: title, detail and violations of a problem, or the text itself; '' where there is none. */
export function problemText(bytes: Buffer, encoding: string | null, secrets: readonly string[]): string {
  const body = decoded(bytes, encoding).toString('utf8');
  return foreignText(saidIn(body), secrets, MESSAGE_CHARACTERS);
}

/** The OAuth error code in a body, e.g. `invalid_client`, or null. */
export function oauthError(bytes: Buffer): string | null {
  const parsed = problemShape.safeParse(parsedJson(bytes.toString('utf8')));
  return parsed.success ? (parsed.data.error ?? null) : null;
}

function saidIn(body: string): string {
  const parsed = problemShape.safeParse(parsedJson(body));
  if (!parsed.success) return body.replace(/<[^<>]*>/g, ' ');
  const { title, detail, error, error_description, violations } = parsed.data;
  const said = [title, detail, error, error_description].filter((part) => part !== undefined && part !== '');
  const breaches = (violations ?? []).map(({ name, reason }) => [name, reason].filter(Boolean).join(': '));
  // A detail that only repeats the title says nothing more.
  const parts = [...new Set([...said, ...breaches.filter((breach) => breach !== '')])];
  return parts.length > 0 ? parts.join('; ') : body;
}

function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function decoded(bytes: Buffer, encoding: string | null): Buffer {
  if (!/^\s*(?:x-)?gzip\s*$/i.test(encoding ?? '')) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: LIMITS.errorBodyBytes, finishFlush: zlib.Z_SYNC_FLUSH });
  } catch {
    return Buffer.alloc(0); // damaged, or far larger than an error has reason to be
  }
}
