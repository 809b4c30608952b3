/** Where the value of a column comes from: the service's field and the answer that has it, or the rule by which we make it. */
import {
  ACCOUNT_COLUMN,
  type DerivedRule,
  EXTRA_COLUMN,
  FETCH_COLUMN,
  LOADED_COLUMN,
  OBSERVED_FROM,
  OBSERVED_ON,
  type Pipeline,
  type SourceColumn,
  VALID_FROM,
} from '../core/pipeline.ts';

const RULES: Readonly<Record<DerivedRule, string>> = {
  'status-group':
    'geaccepteerd → approved; what begins with geweigerd → rejected; open → open; another word → unknown where the status is final, else open; case does not matter',
  'local-time': 'the text as a time without an offset; one that has an offset is brought to the zone of the service',
  'utc-time':
    'the text in the time zone of the service (service.timeZone in the settings), or with the offset that it has',
};

/** Columns that partner-etl makes, wherever they stand. */
const MADE: Readonly<Record<string, string>> = {
  [ACCOUNT_COLUMN]: 'made by partner-etl: whose credentials were used, default where there is one account',
  [EXTRA_COLUMN]: 'members of the answer that the contract does not know',
  [FETCH_COLUMN]: 'made by partner-etl: the id of the request, see etl.fetch',
  [LOADED_COLUMN]: 'made by the warehouse when it loads the row',
  [OBSERVED_ON]: 'made by partner-etl: the day of that instant in the time zone of the service',
  [OBSERVED_FROM]: 'made by partner-etl: when the answer was complete',
  [VALID_FROM]: 'made by partner-etl: when that answer was complete',
};

/** Columns that an answer as a whole fills. */
const ANSWERED: Readonly<Record<string, string>> = {
  outcome: "made by partner-etl from the answer's status",
  reason: 'the text of an answer that refuses',
};

/** The source of every column of the pipeline's table, by column. */
export function columnSources(pipeline: Pipeline): ReadonlyMap<string, string> {
  const { columns, derived } = pipeline;
  return new Map([
    ...Object.entries(MADE),
    ...columns.map((c) => [c.column, sourceOf(pipeline, c)] as const),
    ...derived.map((d) => [d.column, `derived from ${d.from}: ${RULES[d.rule]}`] as const),
  ]);
}

function sourceOf({ answer }: Pipeline, { column, field, from, origin, json, kind, otherNames }: SourceColumn): string {
  const special = from ?? MADE[column];
  if (special !== undefined) return special;
  if (origin === 'request') return 'asked for by partner-etl';
  if (origin === 'answer') return ANSWERED[column] ?? 'made by partner-etl';
  if (kind === 'json' && json === 'record') return 'the whole answer';
  if (otherNames.length > 0) return [field, ...otherNames].map((name) => `\`${name}\``).join(', or ');
  return field.includes('.') ? `\`${field}\`` : `field \`${field}\`, ${answer}`;
}
