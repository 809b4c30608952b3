/** The status page alone: no schedule, no receiver, no locks, and nobody who could sign in. */
import type { ServeSettings } from '../../config.ts';
import { dayAt } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { RunContext } from '../../run/context.ts';
import { healthOf } from '../health.ts';
import { type HouseServer, startHouseServer } from '../health-server.ts';
import { openPage } from './page.ts';

/** Errors: those of `startHouseServer`. */
export async function startPageServer(
  context: RunContext,
  at: Pick<ServeSettings, 'host' | 'port'>,
): Promise<HouseServer> {
  const { clock, timeZone } = context;
  const sources = { now: () => clock.now(), isLocked: () => true, isReceiving: null, schedule: null };
  const options = {
    token: null,
    today: () => dayAt(clock.now(), timeZone),
    tokens: new Map(),
    start: () => {
      throw new EtlError('bug', 'nobody_signed_in', 'an action without somebody who is signed in');
    },
    secrets: [],
  };
  const page = openPage(options, context, at.host, () => healthOf(sources));
  const server = await startHouseServer(at, [page.routes]);
  return { url: server.url, close: () => server.close() };
}
