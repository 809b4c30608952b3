/**
 * The file `.env` of the working directory: credentials and addresses as NAME=value lines, where there is no better place for them.
 *
 * Only names that begin with PARTNER_ are taken, and none that the environment has already. Since it holds a secret, it must be
 * ours and nobody else's to read: another one is refused instead of being used or passed over in silence. A `.env` that names
 * nothing of ours belongs to another program, whatever its rights.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '../config/environment.ts';
import { EtlError } from '../core/errors.ts';

export const ENV_FILE = '.env';

const LARGEST_BYTES = 65_536;
/** What group and others may do. */
const OTHERS = 0o077;
const OURS = /^PARTNER_[A-Z0-9_]+$/;

/** The variables of the file, without those that are set. `uid`: who we are; null where files have no owners. Errors: `usage/env_file`. */
export async function readEnvFile(cwd: string, env: Environment, uid: number | null): Promise<Environment> {
  const file = path.join(cwd, ENV_FILE);
  const text = await ownText(file, uid);
  if (text === null) return {};
  return Object.fromEntries(ours(text).filter(([name]) => env[name] === undefined));
}

/** Lines for such a file, each read alike by this program, by a shell and by Docker Compose. Errors: `usage/env_value`. */
export function envLines(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).map(([name, value]) => `${name}=${quoted(name, value)}`);
}

async function ownText(file: string, uid: number | null): Promise<string | null> {
  let handle: FileHandle;
  try {
    // A pipe must not keep us waiting for the one who fills it.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw refused(file, `cannot be read (${code ?? 'unknown'})`, 'let this user read it, or move it away', cause);
  }
  try {
    const stats = await handle.stat();
    const { size, mode, uid: owner } = stats;
    // A folder of this name is a virtual environment of Python.
    if (!stats.isFile()) return null;
    if (size > LARGEST_BYTES) throw refused(file, `is larger than ${LARGEST_BYTES} bytes`, 'move it away');
    const text = await handle.readFile('utf8');
    if (ours(text).length === 0) return null;
    if (uid !== null && owner !== uid)
      throw refused(file, 'belongs to another user', `take it over: chown ${uid} ${ENV_FILE}; or move it away`);
    if (uid !== null && (mode & OTHERS) !== 0)
      throw refused(file, `can be used by others (mode ${(mode & 0o777).toString(8)})`, `chmod 600 ${ENV_FILE}`);
    return text;
  } finally {
    await handle.close();
  }
}

function ours(text: string): [string, string][] {
  return Object.entries(parseEnv(text)).flatMap(([name, value]) =>
    OURS.test(name) && value !== undefined ? [[name, value]] : [],
  );
}

const PLAIN = /^[\w@%+=:,./-]+$/;

function quoted(name: string, value: string): string {
  if (PLAIN.test(value)) return value;
  // Within single quotes nothing has a meaning, for any of the three readers; and nothing can stand for the quote itself.
  if (!/['\p{Cc}]/u.test(value)) return `'${value}'`;
  if (!/["`$\\\p{Cc}]/u.test(value)) return `"${value}"`;
  throw new EtlError(
    'usage',
    'env_value',
    `${name} cannot be written into ${ENV_FILE} so that every reader takes it alike`,
    {
      hint: 'put the secret into a file of its own with mode 600: --client-secret-file',
    },
  );
}

function refused(file: string, why: string, hint: string, cause?: unknown): EtlError {
  return new EtlError('usage', 'env_file', `${file} ${why}`, { hint, concern: { file }, cause });
}
