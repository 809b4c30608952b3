/** Whether the state is there, whole, for its owner alone, and backed up. */
import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { HomePaths } from '../../core/home.ts';
import { demandOneTime, openState, placeOf, type StateAt } from '../../store/open.ts';
import { backupsIn, demandNew, examineState } from '../../store/sqlite/backups.ts';
import { broken, type Finding, ok, skipped, warning } from './finding.ts';

const MIB = 1024 * 1024;
const REBUILD = 'partner-etl rebuild --state';

/** `uid`: who we are; null where files have no owners and modes. */
export function checkState(
  { home, stateUrl }: Pick<Config, 'home' | 'stateUrl'>,
  uid: number | null,
  clock: Clock,
): Promise<Finding> {
  return stateUrl === null ? checkStateFile(home, uid) : checkStateServer({ url: stateUrl, home }, clock);
}

/** Errors: as of `openState` and `demandOneTime`. */
async function checkStateServer(at: StateAt, clock: Clock): Promise<Finding> {
  const state = await openState(at);
  try {
    await demandOneTime(state, at, clock);
    return ok(
      `${placeOf(at)}; back it up by the server's means. ${at.home.root} must be the same folder for every host`,
    );
  } finally {
    await state.close();
  }
}

/** Errors: `failed/lost_state`. */
async function checkStateFile(home: HomePaths, uid: number | null): Promise<Finding> {
  const { database, backups } = home;
  // SQLite makes files beside it to read it: without the right to do so it calls a sound one broken.
  const folder = path.dirname(database);
  const refused = await access(folder, constants.W_OK).catch((error: NodeJS.ErrnoException) => error.code ?? 'unknown');
  if (refused !== undefined && refused !== 'ENOENT') return skipped(`${folder} cannot be written to (${refused})`);
  const found = await examineState(database);
  if (found.is === 'damaged') return broken(found.problem, REBUILD);
  if (found.is === 'lost') {
    await demandNew(home);
    return ok(`${database} will be made by the first command`);
  }
  const { mode, size } = await stat(database);
  if (uid !== null && (mode & 0o077) !== 0)
    return broken(
      `${database} holds the token, and others may use it (mode ${(mode & 0o777).toString(8)})`,
      `chmod 600 ${database}`,
    );
  const [newest] = await backupsIn(backups);
  const shown = `${database}, ${(size / MIB).toFixed(1)} MiB, sound`;
  if (newest === undefined) return ok(`${shown}; no backup yet: a run that ends well makes one`);
  if ((await examineState(newest.file)).is === 'sound') return ok(`${shown}; newest backup of ${newest.day}`);
  return warning(`${shown}, but its newest backup is damaged`, `rm ${newest.file}; the next run makes another`);
}
