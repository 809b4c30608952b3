/**
 * The access token on disk, shared by all processes of the installation. It is a secret: mode 0600, and a file that somebody
 * else could have read or written is not used. Such a file, and a damaged one, is replaced by the next token.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { z } from 'zod';
import { LIMITS } from '../core/limits.ts';
import { writeJson } from '../disk/atomic.ts';
import { type CredentialPrint, printShape } from './credential-print.ts';

export interface Token {
  readonly value: string;
  /** By our clock, taken before the request was sent, so that the token is never older than we think. */
  readonly obtainedAtMs: number;
  readonly expiresAtMs: number;
}

export interface CachedToken {
  readonly token: Token;
  /** Of the credentials that it was given for. */
  readonly print: CredentialPrint;
}

/** Printable ASCII without a space: whatever else came could not stand in a header, or would break out of it. */
export const TOKEN_TEXT = /^[\x21-\x7e]{1,16384}$/;

const cacheShape = z.object({
  version: z.literal(1),
  accessToken: z.string().regex(TOKEN_TEXT),
  obtainedAtMs: z.number(),
  expiresAtMs: z.number(),
  print: printShape,
});

/** What lies in the cache: a token, nothing, or a reason why it cannot be trusted. `uid` is ours, null where there are none. */
export async function readTokenCache(
  file: string,
  uid: number | null,
): Promise<CachedToken | null | { unfit: string }> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    return { unfit: code === 'ELOOP' ? 'it is a symbolic link' : `it cannot be opened (${code})` };
  }
  try {
    const about = await handle.stat();
    if (!about.isFile()) return { unfit: 'it is no file' };
    if (uid !== null && about.uid !== uid) return { unfit: `it belongs to user ${about.uid}, not to ${uid}` };
    if (uid !== null && (about.mode & 0o077) !== 0)
      return { unfit: `others may use it (mode ${(about.mode & 0o777).toString(8)}, not 600)` };
    if (about.size > LIMITS.tokenBodyBytes) return { unfit: `it has ${about.size} bytes` };
    return parsed(await handle.readFile('utf8'));
  } finally {
    await handle.close();
  }
}

/** Replaces the cache, also when a link or somebody else's file stands in its place. */
export async function writeTokenCache(file: string, { token, print }: CachedToken): Promise<void> {
  const { value: accessToken, obtainedAtMs, expiresAtMs } = token;
  await writeJson(file, { version: 1, accessToken, obtainedAtMs, expiresAtMs, print }, { mode: 0o600 });
}

function parsed(text: string): CachedToken | { unfit: string } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { unfit: 'it is damaged' };
  }
  const cache = cacheShape.safeParse(json);
  if (!cache.success) return { unfit: 'it is damaged' };
  const { accessToken: value, obtainedAtMs, expiresAtMs, print } = cache.data;
  return { token: { value, obtainedAtMs, expiresAtMs }, print };
}
