/** The status page with all that it needs, for `serve`. */
import type { Day } from '../../core/days.ts';
import { isNamed } from '../../core/pipeline.ts';
import type { TokenSource } from '../../partner/token/token.ts';
import type { RunContext } from '../../run/context.ts';
import type { Routes } from '../admin-server.ts';
import type { Health } from '../health.ts';
import type { StartProgram } from '../program-process.ts';
import { Actions } from './actions.ts';
import { pageRoutes } from './routes.ts';
import { Sessions } from './sessions.ts';
import { PageSources } from './sources/sources.ts';

export interface PageOptions {
  /** null: none is set. */
  readonly token: string | null;
  readonly today: () => Day;
  /** Pairs of credentials, by name. */
  readonly tokens: ReadonlyMap<string, Pick<TokenSource, 'state'>>;
  /** What actions are begun with. */
  readonly start: StartProgram;
  /** Values that must appear nowhere. */
  readonly secrets: readonly string[];
}

export interface Page {
  readonly routes: Routes;
  /** Waits for what is under way, which ends after the slice in hand. */
  close(): Promise<void>;
  /** Ends what is under way by force. */
  kill(): void;
}

export function openPage(options: PageOptions, context: RunContext, host: string, health: () => Health): Page {
  const { token, today, tokens, start, secrets } = options;
  const { clock, log } = context;
  const sources = new PageSources({ context, today, health, tokens, secrets });
  const actions = new Actions({ start, secrets, onDone: () => sources.forget() });
  const sessions = new Sessions(token, clock);
  const end = () => actions.close();
  if (context.signal.aborted) void end();
  else context.signal.addEventListener('abort', end, { once: true });
  const pipelines = context.pipelines.filter(isNamed).map(({ name }) => name);
  return {
    routes: pageRoutes({ host, sources, sessions, actions, pipelines, today, secrets, clock, log }),
    close: () => actions.close(),
    kill: () => actions.kill(),
  };
}
