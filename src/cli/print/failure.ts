/** An error as few lines for the operator: what failed, where, why, what to do. The stack only with --verbose. */
import { asEtlError, type Concern, type EtlError } from '../../core/errors.ts';
import { fieldsAbout } from '../../core/log.ts';
import { foreignText, redact } from '../../core/redact.ts';

export interface FailureOptions {
  readonly verbose: boolean;
  readonly secrets: readonly string[];
}

const LONGEST_LINE = 600;
/** Wrong settings are printed one a line; after this many the rest is counted. */
const MOST_LINES = 20;

/** The lines, without a line break at the end. */
export function describeFailure(thrown: unknown, { verbose, secrets }: FailureOptions): string {
  const error = asEtlError(thrown);
  // Line breaks of ours stay; anything that could forge a line, colour it or hide it is taken out.
  const said = error.message.split('\n').map((line) => foreignText(line, secrets, LONGEST_LINE));
  const where = foreignText(describeConcern(error), secrets, LONGEST_LINE);
  const lines = [
    `partner-etl: ${where === '' ? '' : `${where}: `}${said[0]}`,
    ...said.slice(1, MOST_LINES).map((line) => `  ${line}`),
  ];
  if (said.length > MOST_LINES) lines.push(`  and ${said.length - MOST_LINES} more`);
  const reason = reasonOf(error);
  if (reason !== null) lines.push(`  why: ${foreignText(reason, secrets, LONGEST_LINE)}`);
  if (error.hint !== undefined) lines.push(`  fix: ${foreignText(error.hint, secrets, LONGEST_LINE)}`);
  if (verbose) lines.push(`  code: ${error.kind}/${error.code}`, ...stackOf(error, secrets));
  return lines.join('\n');
}

/** The same as a message and fields of the log. */
export function failureLine(
  thrown: unknown,
  { verbose, secrets }: FailureOptions,
): [message: string, fields: Record<string, unknown>] {
  const error = asEtlError(thrown);
  const shown = (text: string) => foreignText(text, secrets, LONGEST_LINE);
  const reason = reasonOf(error);
  return [
    error.message.split('\n').slice(0, MOST_LINES).map(shown).join('\n'),
    {
      code: error.code,
      ...(reason === null ? {} : { why: shown(reason) }),
      ...(error.hint === undefined ? {} : { fix: shown(error.hint) }),
      ...fieldsAbout(error.concern),
      ...(verbose ? { kind: error.kind, stack: stackOf(error, secrets).join('\n') } : {}),
    },
  ];
}

/** `orders 2026-03-01..2026-03-07, request f01…`, or nothing. */
function describeConcern({ concern, message }: EtlError): string {
  const { pipeline, day, window, target, requestId, file }: Concern = concern;
  const slice = [pipeline, day ?? window].filter((part) => part !== undefined).join(' ');
  const known = [
    slice,
    target ?? '',
    requestId === undefined ? '' : `request ${requestId}`,
    // The message usually names the file as people know it.
    file === undefined || message.includes(file.split(/[\\/]/).at(-1)!) ? '' : file,
  ].filter((part) => part !== '');
  return known.join(', ');
}

/** The innermost cause says most; what only repeats the message says nothing. */
function reasonOf(error: EtlError): string | null {
  let cause: unknown = error.cause;
  for (let depth = 0; depth < 10 && cause instanceof Error && cause.cause instanceof Error; depth++)
    cause = cause.cause;
  if (cause instanceof AggregateError && cause.message === '') cause = cause.errors[0];
  if (!(cause instanceof Error) || cause.message === '' || error.message.includes(cause.message)) return null;
  return cause.message.split('\n')[0]!;
}

function stackOf(error: EtlError, secrets: readonly string[]): string[] {
  const lines: string[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < 10 && at instanceof Error; depth++) {
    const stack = at.stack ?? `${at.name}: ${at.message}`;
    lines.push(
      ...redact(stack, secrets)
        .split('\n')
        .map((line) => `  ${foreignText(line, [], LONGEST_LINE)}`),
    );
    at = at.cause;
  }
  return lines;
}
