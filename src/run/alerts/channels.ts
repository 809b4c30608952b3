/** The ways in which a message goes out. Each is known by its name, tried once at a time, and given up after some seconds. */
import { Agent, request } from 'undici';
import { isHere } from '../../config/address.ts';
import type { AlertMail, AlertSettings, AlertWebhook } from '../../config/alerts.ts';
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import type { AlertMessage } from './message.ts';

export interface Channel {
  /** `webhook default`, `mail`. */
  readonly name: string;
  /** What came back, in a few words. Errors: `failed/alert_undelivered`, which say neither address nor password. */
  send(message: AlertMessage): Promise<string>;
}

/** Nobody waits longer for a message than for the run that it is about. */
const LONGEST_MS = 10_000;
/** Slack cuts a text that is longer. */
const SLACK_CHARS = 3_500;

/** Those that are set up. */
export function channelsOf({ webhooks, mail }: AlertSettings, clock: Clock): Channel[] {
  const hooks = webhooks.flatMap((hook) => (hook.url === null ? [] : [webhook(hook, hook.url, clock)]));
  return mail ? [...hooks, mailing(mail, clock)] : hooks;
}

function webhook({ name, kind, variable }: AlertWebhook, url: string, clock: Clock): Channel {
  const channel = `webhook ${name}`;
  const fix = `check ${variable}, and that this machine may reach what it names`;
  return {
    name: channel,
    send: async (message) => {
      const body = JSON.stringify(kind === 'slack' ? { text: slackText(message) } : message.document);
      const status = await inTime(clock, channel, fix, async (signal) => {
        // An agent of its own: a connection that is kept would keep the process.
        const dispatcher = new Agent();
        try {
          const headers = { 'content-type': 'application/json', 'user-agent': 'partner-etl' };
          const answer = await request(url, { method: 'POST', headers, body, signal, dispatcher });
          answer.body.on('error', () => undefined).destroy();
          return answer.statusCode;
        } finally {
          await dispatcher.destroy();
        }
      });
      if (status < 200 || status >= 300) throw undelivered(channel, `it answered ${status}`, fix);
      return `answered ${status}`;
    },
  };
}

function mailing(mail: AlertMail, clock: Clock): Channel {
  const { host, port, secure, user, password, from, to } = mail;
  const fix =
    'check alerts.mail in the settings, PARTNER_ETL_SMTP_PASSWORD, and that this machine may reach the mail server';
  return {
    name: 'mail',
    send: async ({ subject, text }) =>
      inTime(clock, 'mail', fix, async (signal) => {
        const { createTransport } = await import('nodemailer');
        const transport = createTransport({
          ...{ host, port, secure },
          ...(user === null ? {} : { auth: { user, pass: password ?? '' } }),
          // A password must not go over a line that anybody can read.
          requireTLS: user !== null && !secure && !isHere(`smtp://${host}`),
          ...{ connectionTimeout: LONGEST_MS, greetingTimeout: LONGEST_MS, socketTimeout: LONGEST_MS },
          ...{ disableFileAccess: true, disableUrlAccess: true },
        });
        signal.addEventListener('abort', () => transport.close(), { once: true });
        try {
          const date = new Date(clock.now());
          const headers = { 'auto-submitted': 'auto-generated' };
          const { accepted, rejected } = await transport.sendMail({ from, to: [...to], subject, text, date, headers });
          return rejected.length === 0
            ? `accepted for ${accepted.length}`
            : `accepted for ${accepted.length} of ${to.length} addresses`;
        } finally {
          transport.close();
        }
      }),
  };
}

/** Does it within the time there is. What libraries say may hold an address, so only codes of theirs are passed on. */
async function inTime<T>(
  clock: Clock,
  channel: string,
  fix: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const over = new AbortController();
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => {
      stop.abort();
      reject(undelivered(channel, `no answer within ${LONGEST_MS / 1000} s`, fix));
    };
    clock.sleep(LONGEST_MS, over.signal).then(giveUp, () => undefined); // rejected: it was done in time
  });
  try {
    return await Promise.race([work(stop.signal), late]);
  } catch (error) {
    if (error instanceof EtlError) throw error;
    const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
    const codes = [code, responseCode].filter((one) => typeof one === 'string' || typeof one === 'number');
    throw undelivered(channel, codes.join(' ') || 'it failed', fix);
  } finally {
    over.abort();
  }
}

function undelivered(channel: string, why: string, fix: string): EtlError {
  return new EtlError('failed', 'alert_undelivered', `${channel}: the message was not taken: ${why}`, { hint: fix });
}

/** Slack reads three characters as markup; commands stand out as code. */
function slackText({ subject, text }: AlertMessage): string {
  const escaped = (part: string) => part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const lines = text.split('\n').map((line) => {
    const [, before = '', command] = /^(.*?)(partner-etl [^"]*)$/.exec(line) ?? [];
    return command && /^ {2}(?:look|fix): /.test(line) ? `${escaped(before)}\`${escaped(command)}\`` : escaped(line);
  });
  const whole = [`*${escaped(subject)}*`, ...lines].join('\n');
  return whole.length <= SLACK_CHARS ? whole : `${whole.slice(0, SLACK_CHARS)}…`;
}
