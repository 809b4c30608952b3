/** The status page alone: no schedule, no receiver, no locks, and nobody who could sign in. */
import { dayAt } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { RunContext } from '../../run/context.ts';
import { type AdminPlace, type AdminServer, startAdminServer } from '../admin-server.ts';
import { healthOf } from '../health.ts';
import { openPage } from './page.ts';

/** Errors: those of `startAdminServer`. */
export async function startPageServer(context: RunContext, at: AdminPlace): Promise<AdminServer> {
  const { clock, timeZone } = context;
  const sources = {
    now: () => clock.now(),
    isLocked: () => true,
    isReceiving: null,
    isStandingBy: () => false,
    schedule: () => null,
  };
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
  const server = await startAdminServer(at, [page.routes]);
  return { url: server.url, close: () => server.close() };
}
