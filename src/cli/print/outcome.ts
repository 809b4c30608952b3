/** What a command that moved data prints of its outcome. */
import type { RunOutcome } from '../../run/session.ts';
import type { RunChanges } from '../../run/window/what-changed.ts';
import type { CliContext } from '../context.ts';
import { counted, printJson } from './output.ts';

/** Prints the outcome, as JSON on stdout or as some lines, and sets the exit code. */
export function printOutcome(cli: CliContext, outcome: RunOutcome, asJson: boolean): void {
  cli.screen.settle();
  cli.finish(outcome.exitCode);
  if (asJson) printJson(cli.stdout, documentOf(outcome));
  else if (!cli.verbosity.quiet) cli.stdout.write(`${linesOf(outcome).join('\n')}\n`);
  if (cli.verbosity.format === 'json') return; // each is a line of the log already
  for (const error of outcome.errors.slice(0, ERRORS_SHOWN)) cli.fail(error);
  const more = outcome.errors.length - ERRORS_SHOWN;
  if (more > 0) cli.say(`… and ${more} more errors; partner-etl status shows what is missing`);
}

const ERRORS_SHOWN = 5;

function documentOf({ run, published, errors, changes }: RunOutcome) {
  return {
    ...run,
    changes,
    published: published.map(({ target, result, holds }) => ({
      target,
      ...(result ?? { slices: 0, rows: 0, warnings: [] }),
      holds,
    })),
    errors: errors.map(({ kind, code, message, hint, concern }) => ({
      kind,
      code,
      message,
      hint: hint ?? null,
      ...concern,
    })),
  };
}

function linesOf({ run, published, changes }: RunOutcome): string[] {
  const { summary } = run;
  if (!summary) return [];
  const n = (value: number) => value.toLocaleString('en-US');
  const { windows, calls, slices_changed: changed } = summary;
  const isOnlyLoading = windows + calls + changed === 0 && published.some(({ result }) => result !== null);
  const lines = [];
  if (!isOnlyLoading)
    lines.push(
      `${counted(summary.rows, 'row')} in ${counted(summary.windows, 'window')} (${counted(summary.calls, 'call')}): ${counted(summary.slices_changed, 'slice')} changed, ${n(summary.slices_unchanged)} unchanged`,
    );
  for (const { target, result, errors } of published)
    if (result)
      lines.push(
        `${target}: ${counted(result.slices, 'slice')}, ${counted(result.rows, 'row')} loaded in ${(result.tookMs / 1000).toFixed(1)} s`,
      );
    else lines.push(`${target}: ${errors.length > 0 ? 'could not be published into' : 'nothing to load'}`);
  const news = newsOf(changes);
  if (news.length > 0) lines.push(news.join(', '));
  const warnings = warningsOf(published);
  if (warnings > 0)
    lines.push(
      `checks warned of ${counted(warnings, 'thing')}: see the log, and partner-etl status lists them as drift`,
    );
  if (summary.slices_held > 0)
    lines.push(
      `${n(summary.slices_held)} slices are held: partner-etl status lists them, partner-etl release applies one`,
    );
  if (summary.left_out > 0)
    lines.push(
      `${n(summary.left_out)} look-ups were left out by the budget of the night: partner-etl plan counts them`,
    );
  if (summary.rejects > 0) lines.push(`${n(summary.rejects)} rows were rejected: partner-etl rejects shows them`);
  if (summary.duplicates > 0) lines.push(`${n(summary.duplicates)} exact duplicates were dropped`);
  return lines;
}

/** What somebody who earns the money wants to know; nothing for what is zero. */
export function newsOf(changes: RunChanges): string[] {
  const { new_orders: orders, new_items: items, approved_items: approved, paid_items: paid } = changes;
  const { vanished_items: gone } = changes;
  const news: string[] = [];
  if (orders > 0) news.push(`${counted(orders, 'new order')} of ${counted(items, 'item')}`);
  else if (items > 0) news.push(counted(items, 'new order item'));
  if (approved > 0) news.push(`newly approved: ${amount(changes.approved_commission)} of ${counted(approved, 'item')}`);
  if (paid > 0) news.push(`payment begun: ${amount(changes.paid_commission)} of ${counted(paid, 'item')}`);
  if (gone > 0) news.push(`${counted(gone, 'vanished item')}`);
  const restated = Object.entries(changes.restated_days);
  const days = restated.map(([pipeline, number]) => `${pipeline} ${number.toLocaleString('en-US')}`);
  if (days.length > 0) news.push(`restated days: ${days.join(', ')}`);
  return news;
}

/** Decimal text with its thousands apart, and no digit lost. */
function amount(text: string): string {
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',')}.${fraction} commission`;
}

/** Each once however many targets have it; what each is stands in the log. */
function warningsOf(published: RunOutcome['published']): number {
  const all = published.flatMap(({ result }) => result?.warnings ?? []);
  return new Set(all.map(({ check, pipeline, day, field }) => [check, pipeline, day, field].join(' '))).size;
}
