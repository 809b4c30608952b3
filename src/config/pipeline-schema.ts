/** What the settings files may say about the pipelines: a section for each that people name, by the kind of its source. */
import { Cron } from 'croner';
import { z } from 'zod';
import { pipelines } from '../../pipelines/index.ts';
import { type Day, isDay } from '../core/days.ts';
import { LIMITS } from '../core/limits.ts';
import { line, matching, whole, yesOrNo } from './values.ts';

const CRON_ERROR = "five fields: minute, hour, day, month, weekday, such as '30 5 * * *'";
const MARKETS_ERROR =
  'a list of one country and language or more, such as [{ country: NL, language: nl }], each only once';
const COLUMNS_ERROR = 'five different names of columns';

const timing = () => ({
  enabled: yesOrNo(),
  schedule: z.string({ error: CRON_ERROR }).refine(isCron, { error: CRON_ERROR }),
});

const report = () =>
  z.strictObject({
    ...timing(),
    startDay: z.custom<Day | null>((value) => value === null || (typeof value === 'string' && isDay(value)), {
      error: 'a day as yyyy-mm-dd, or null',
    }),
    lookbackDays: whole(1, 3650, 'days'),
    windowDays: whole(1, LIMITS.windowDays, 'days'),
    lagDays: whole(0, 365, 'days'),
  });

const lookup = () => ({
  ...timing(),
  callsPerNight: whole(1, 10_000_000, 'calls'),
  freshHours: whole(0, 8760, 'hours'),
});

const market = () =>
  z.strictObject({
    country: matching(/^[A-Z]{2}$/, 'a country as two capital letters, such as NL'),
    language: matching(/^[a-z]{2}(?:-[A-Z]{2})?$/, 'a language such as nl or nl-BE'),
  });

const products = () =>
  z.strictObject({
    ...lookup(),
    refreshDays: whole(1, 3650, 'days'),
    markets: z
      .array(market(), { error: MARKETS_ERROR })
      .min(1, { error: MARKETS_ERROR })
      .refine((list) => areDifferent(list.map(({ country, language }) => `${country} ${language}`)), {
        error: MARKETS_ERROR,
      }),
    include: z.strictObject({ specifications: yesOrNo(), image: yesOrNo(), offer: yesOrNo(), rating: yesOrNo() }),
  });

const commissionRates = () =>
  z.strictObject({
    ...lookup(),
    condition: z.enum(['NEW', 'AS_NEW', 'GOOD', 'REASONABLE', 'MODERATE'], {
      error: 'one of NEW, AS_NEW, GOOD, REASONABLE and MODERATE',
    }),
  });

const reductions = () => {
  const name = () => line('the name of a column');
  return z.strictObject({
    ...timing(),
    recheckMinutes: whole(0, 10_080, 'minutes'),
    delimiter: matching(/^[^"\r\n\0]$/, 'one character, such as "," or ";", but no quote'),
    columns: z
      .strictObject({ ean: name(), maximumPrice: name(), costReduction: name(), startDate: name(), endDate: name() })
      .refine((columns) => areDifferent(Object.values(columns)), { error: COLUMNS_ERROR }),
  });
};

/** Calls that follow from what was pushed or started. */
const following = () => z.strictObject({ ...timing(), callsPerNight: whole(1, 10_000_000, 'calls') });

/** Every report has a section of one kind; the others have each their own. */
export function pipelineSections() {
  const reports = pipelines.filter(({ source }) => source.isByRange).map(({ name }) => [name, report()] as const);
  return z.strictObject({
    ...(Object.fromEntries(reports) as { [name: string]: ReturnType<typeof report> }),
    products: products(),
    'commission-rates': commissionRates(),
    reductions: reductions(),
    'push-messages': z.strictObject(timing()),
    subscriptions: z.strictObject(timing()),
    'process-statuses': following(),
    'push-links': following(),
  });
}

function areDifferent(texts: readonly string[]): boolean {
  return new Set(texts).size === texts.length;
}

function isCron(text: string): boolean {
  // No nicknames such as @daily: what reads a schedule looks at its fields.
  if (!/^\s*\S+(?:\s+\S+){4}\s*$/.test(text)) return false;
  try {
    return new Cron(text, { mode: '5-part' }).nextRun() !== null;
  } catch {
    return false;
  }
}
