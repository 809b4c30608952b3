/** Where alerts go: the channels of the settings, with the addresses and the password that only the environment knows. */
import { type Environment, readSecret } from './environment.ts';
import type { Problem } from './problems.ts';
import type { Settings } from './schema/settings.ts';

type Section = Settings['alerts'];

export interface AlertWebhook {
  readonly name: string;
  readonly kind: 'generic' | 'slack';
  /** The variable that holds its address. */
  readonly variable: string;
  /** A secret: who knows it can write there. null: not set, so nothing is sent. */
  readonly url: string | null;
}

export interface AlertMail {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte on; else STARTTLS where the server offers it. */
  readonly secure: boolean;
  readonly user: string | null;
  readonly password: string | null;
  readonly from: string;
  readonly to: readonly string[];
}

export interface AlertSettings {
  /** How this installation is called in a message. */
  readonly title: string;
  readonly causes: Section['causes'];
  /** After so many hours a cause that lasts is reported again. */
  readonly remindHours: number;
  /** How late a pipeline may be. */
  readonly freshness: readonly { readonly pipeline: string; readonly hours: number }[];
  /** So many days without a push message are too many; null: none is waited for. */
  readonly pushDays: number | null;
  readonly webhooks: readonly AlertWebhook[];
  /** null: no mail is sent. */
  readonly mail: AlertMail | null;
}

export interface FoundAlerts {
  readonly alerts: AlertSettings | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

const PASSWORD = 'PARTNER_ETL_SMTP_PASSWORD';
const ADDRESS = 'an address such as https://example.com/alerts is accepted';
/** The secret of a webhook is in its path; one that is shorter names nothing. */
const SHORTEST_PATH = 16;

/** `default` is PARTNER_ETL_ALERT_URL, `slack` is PARTNER_ETL_ALERT_SLACK_URL. */
export function webhookVariable(name: string): string {
  return name === 'default'
    ? 'PARTNER_ETL_ALERT_URL'
    : `PARTNER_ETL_ALERT_${name.toUpperCase().replaceAll('-', '_')}_URL`;
}

/** `settings`: null where they could not be read. */
export async function readAlerts(settings: Settings | null, env: Environment, cwd: string): Promise<FoundAlerts> {
  if (settings === null) return { alerts: null, problems: [], warnings: [] };
  const { alerts, push } = settings;
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const secret = async (name: string) => {
    const found = await readSecret(name, env, cwd);
    problems.push(...found.problems);
    warnings.push(...found.warnings);
    return found.secret?.trim() ?? null;
  };
  const webhooks: AlertWebhook[] = [];
  for (const { name, kind } of alerts.webhooks) {
    const variable = webhookVariable(name);
    const url = await secret(variable);
    if (url !== null && !isWebAddress(url)) problems.push({ where: 'environment', key: variable, accepted: ADDRESS });
    webhooks.push({ name, kind, variable, url });
  }
  const { host, from, ...mail } = alerts.mail;
  const password = host === null ? null : await secret(PASSWORD);
  const isMail = host !== null && from !== null;
  return {
    alerts: {
      ...alerts,
      pushDays: push.enabled ? alerts.pushDays : null,
      webhooks,
      mail: isMail ? { ...mail, host, from, password } : null,
    },
    problems,
    warnings,
  };
}

/** What of them must appear nowhere. */
export function alertSecrets({ webhooks, mail }: AlertSettings): string[] {
  const urls = webhooks.flatMap(({ url }) => {
    if (url === null) return [];
    const { pathname, search } = new URL(url);
    return [url, ...[`${pathname}${search}`, pathname].filter((part) => part.length >= SHORTEST_PATH)];
  });
  return mail?.password ? [...urls, mail.password] : urls;
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
