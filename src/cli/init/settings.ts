/** The settings file that `init` writes. */
import { trimAddress } from '../../config/address.ts';
import type { Day } from '../../core/days.ts';

export interface SettingsAnswers {
  readonly baseUrl?: string | undefined;
  readonly authUrl?: string | undefined;
  readonly startDay?: Day | undefined;
  /** CSV of EANs. */
  readonly eans?: string | undefined;
}

/** What was not given stands in it as a comment, ready to be uncommented. */
export function settingsText({ baseUrl, authUrl, startDay, eans }: SettingsAnswers): string {
  const address = (key: string, value: string | undefined) =>
    value === undefined
      ? `  # ${key}: https://${key === 'baseUrl' ? 'api' : 'login'}.example.com`
      : `  ${key}: ${trimAddress(value)}`;
  const start = startDay === undefined ? '    # startDay: 2023-01-01' : `    startDay: ${startDay}`;
  return `# Settings of this installation. They override config/default.yaml key by key; that file explains every setting.
# Client id and secret never stand here: they come from the environment.

service:
  # Root addresses; PARTNER_BASE_URL and PARTNER_AUTH_URL win over them.
${address('baseUrl', baseUrl)}
${address('authUrl', authUrl)}

# The EANs that are asked about besides those that were sold lately: a CSV file of ean[,price[,condition]].
eans:
${eans === undefined ? '  # file: eans.csv' : `  file: ${JSON.stringify(eans)}`}

pipelines:
  promotions:
    # The first day of interest. Without one, history begins where the lookback began at the first run.
${start}
    # enabled: true
    # lookbackDays: 45
  orders:
${start}
    # enabled: true
    # lookbackDays: 45
    # windowDays: 7
  commissions:
${start}
    # enabled: true
    # lookbackDays: 45
  products:
    # enabled: true
    # callsPerNight: 5000
    # markets: [{ country: NL, language: nl }]
  commission-rates:
    # enabled: true
    # callsPerNight: 10000
  reductions:
    # enabled: true

targets:
  # DuckDB is on unless it is switched off here. Postgres is on when PARTNER_ETL_POSTGRES_URL is set.
  # duckdb:
  #   enabled: true

guards:
  # A slice that had at least minRows rows and keeps fewer than keepRatio of them is held until somebody looks.
  # shrink:
  #   minRows: 20
  #   keepRatio: 0.5
`;
}
