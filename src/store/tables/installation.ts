/** The installation's id, by which a warehouse knows who fills it: two that fill one would overwrite each other in silence. */
import { z } from 'zod';
import { type Clock, isoTime } from '../../core/clock.ts';
import { newId } from '../../core/ids.ts';
import type { State } from '../state.ts';
import { readMemo, writeFirstMemo } from './memo.ts';

const MEMO = 'installation';

/** Made when it is first asked for. */
export async function installationOf(state: State, clock: Clock): Promise<string> {
  const known = await readMemo(state.db, MEMO, z.string());
  if (known !== null) return known;
  await adoptInstallation(state, newId('i', clock), isoTime(clock.now()));
  return (await readMemo(state.db, MEMO, z.string()))!;
}

/** What a warehouse says of a state that was lost: it is this installation's again. Where one is known already, nothing changes. */
export async function adoptInstallation(state: State, id: string, at: string): Promise<void> {
  await writeFirstMemo(state, MEMO, id, at);
}
