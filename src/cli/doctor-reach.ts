/** Whether push messages would find their way: our own receiver, by the address that a subscription names. Sends nothing but a GET. */
import { Agent, request } from 'undici';
import type { Clock } from '../core/clock.ts';
import { foreignText } from '../core/redact.ts';
import { broken, type Finding, ok, warning } from './doctor-finding.ts';

const TIMEOUT_MS = 10_000;
const SHOWN_CHARACTERS = 200;

/** What came of asking: a status, or why there was none. */
export type Reached = { readonly status: number } | { readonly failed: string };

/** Asks the address, without credentials; redirects are not followed. Never throws. */
export async function reach(url: string, clock: Clock): Promise<Reached> {
  const stop = new AbortController();
  const over = new AbortController();
  const dispatcher = new Agent();
  clock.sleep(TIMEOUT_MS, over.signal).then(
    () => stop.abort(),
    () => undefined,
  );
  try {
    const { statusCode, body } = await request(url, { method: 'GET', signal: stop.signal, dispatcher });
    body.on('error', () => undefined).destroy();
    return { status: statusCode };
  } catch (error) {
    if (stop.signal.aborted) return { failed: `no answer within ${TIMEOUT_MS / 1000} s` };
    const { code, message } = error as NodeJS.ErrnoException;
    return { failed: code ?? message };
  } finally {
    over.abort();
    await dispatcher.destroy();
  }
}

/** What that means for a receiver whose messages come by POST. `url` is the service's text. */
export function judgeReached(url: string, reached: Reached, webhookPath: string): Finding {
  const at = foreignText(url, [], SHOWN_CHARACTERS);
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
    return broken(`${at} is no https address`, 'subscribe with one: the service pushes to https only');
  if ('failed' in reached)
    return warning(
      `${at} cannot be reached from here (${foreignText(reached.failed, [], SHOWN_CHARACTERS)})`,
      'start partner-etl serve; check name, firewall and certificate. A router may keep just this machine from its own address',
    );
  const { status } = reached;
  // A GET is no message; where the receiver checks who sends, it says 403 to us.
  if (status === 405 || status === 403) return ok(`${at} leads to a receiver (${status} to a GET)`);
  if (status === 404)
    return broken(`${at} answers 404`, `let it lead to the path ${webhookPath} of the receiver, or set push.path`);
  if (status >= 500)
    return broken(`${at} answers ${status}: the proxy finds no receiver`, 'start partner-etl serve, or mend the proxy');
  return warning(`${at} answers ${status}, which our receiver never says to a GET`, 'see what answers there');
}
