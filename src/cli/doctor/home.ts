/** Whose the home directory is, who else may write there, and whether its parts are what they seem. Reads names and rights only. */
import type { Stats } from 'node:fs';
import { lstat, readdir, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { broken, type Finding, ok, warning } from './finding.ts';

/** What group and others may write. */
const WRITE_BY_OTHERS = 0o022;
const SHOWN = 3;

/** `uid`: who we are; null where files have no owners. A home that is not there yet is made by the first run. */
export async function checkHomeRights(home: string, uid: number | null): Promise<Finding> {
  const link = await lstatIfThere(home);
  if (link === null) return ok(`${home} is not there yet`);
  const real = await stat(home);
  if (!real.isDirectory()) return broken(`${home} is no folder`, 'name another place in PARTNER_ETL_HOME');
  const shown = link.isSymbolicLink() ? `${home} → ${await readlink(home)}` : home;
  if (uid === null) return ok(shown);
  if (link.isSymbolicLink() && link.uid !== uid && link.uid !== 0)
    return broken(
      `${shown}: the link belongs to user ${link.uid}, who can point it elsewhere`,
      'make the link yourself',
    );
  if (real.uid !== uid)
    return broken(
      `${shown} belongs to user ${real.uid}, and this is user ${uid}`,
      `run as that user, or: chown -R ${uid} ${home}`,
    );
  if ((real.mode & WRITE_BY_OTHERS) !== 0)
    return broken(`${shown}: others may put files there (mode ${modeOf(real)})`, `chmod go-w ${home}`);
  return ok(`${shown}, mode ${modeOf(real)}`);
}

/** The folders and files right under the home directory: each ours, and no link to another place. */
export async function checkHomeParts(home: string, uid: number | null): Promise<Finding> {
  const names = await readdir(home).catch(() => []);
  const parts: { readonly name: string; readonly stats: Stats }[] = [];
  for (const name of names) {
    const stats = await lstatIfThere(path.join(home, name));
    if (stats) parts.push({ name, stats });
  }
  const foreign = parts.filter(({ stats }) => uid !== null && stats.uid !== uid).map(({ name }) => name);
  // Mostly a command that was run as root once.
  if (foreign.length > 0)
    return broken(`${listed(foreign)} under ${home} belong to another user`, `chown -R ${uid} ${home}`);
  const links = parts.filter(({ stats }) => stats.isSymbolicLink()).map(({ name }) => name);
  // A file that is renamed into place takes the place of the link, not of what it leads to.
  if (links.length > 0)
    return warning(
      `${listed(links)} under ${home} are links`,
      'put what they lead to there, or mount it; to move everything, name another folder in PARTNER_ETL_HOME',
    );
  const open = parts
    .filter(({ stats }) => uid !== null && (stats.mode & WRITE_BY_OTHERS) !== 0)
    .map(({ name }) => name);
  if (open.length > 0) return warning(`others may write to ${listed(open)} under ${home}`, `chmod -R go-w ${home}`);
  return ok(parts.length === 0 ? 'nothing is there yet' : `${parts.length} folders and files, all of this user`);
}

async function lstatIfThere(place: string): Promise<Stats | null> {
  return lstat(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

function listed(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return `${names.slice(0, SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o777).toString(8);
}
