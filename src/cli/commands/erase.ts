/** erase: a person's request, carried out. */
import type { Command } from 'commander';
import { EtlError } from '../../core/errors.ts';
import { type ErasedCounts, type EraseRequest, plannedErase, runErase } from '../../extras/erase/erase.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { askerAt } from '../init/questions.ts';
import { printOutcome } from '../print/outcome.ts';
import { counted, printJson, printTable } from '../print/output.ts';
import { withApp } from '../with-app.ts';

interface EraseOptions {
  readonly subId?: readonly string[];
  readonly orderId?: readonly string[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('erase')
    .description("for a person's request: take sub-IDs or orders out of everything that is kept; sums stay")
    .option('--sub-id <text...>', 'sub-IDs as the warehouse has them')
    .option('--order-id <id...>', 'orders, each with all its items')
    .option('--dry-run', 'count what stands where, and change nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON document')
    .action(async (options: EraseOptions) => {
      const request = { subIds: options.subId ?? [], orders: options.orderId ?? [] };
      const { json = false } = options;
      if (options.dryRun) {
        const found = await withApp(cli, (context) => plannedErase(context, request));
        return printReport(cli, { found }, json);
      }
      if (options.yes !== true) await demandConsent(cli, request);
      const { outcome, record } = await withApp(cli, (context) => runErase(context, request));
      if (record?.found == null) return printOutcome(cli, outcome, json);
      const errors = outcome.errors.map(({ code, message, hint }) => ({ code, message, hint: hint ?? null }));
      printReport(cli, { ...record, found: record.found, errors }, json);
      if (errors.length > 0 && !json) return printOutcome(cli, outcome, false);
      return cli.finish(outcome.exitCode);
    });
  addExamples(command, [
    ['erase --sub-id user-4711 --dry-run', 'where it stands'],
    ['erase --order-id 1043946570 1043946571 --yes', 'two orders, without being asked'],
  ]);
}

/** Errors: `usage/no_consent`. */
async function demandConsent(cli: CliContext, { subIds, orders }: EraseRequest): Promise<void> {
  const refused = new EtlError('usage', 'no_consent', 'nothing was erased: nobody has agreed to it', {
    hint: 'it cannot be undone; look with --dry-run, then add --yes',
  });
  const asker = askerAt(cli, 'stopped; nothing was erased');
  if (asker === null) throw refused;
  try {
    const what = `${counted(subIds.length, 'sub-ID')} and ${counted(orders.length, 'order')}`;
    if (!(await asker.isYes(`Erase ${what} everywhere? It cannot be undone`, false))) throw refused;
  } finally {
    asker.close();
  }
}

function printReport(
  cli: CliContext,
  report: { readonly found: ErasedCounts; readonly errors?: unknown },
  asJson: boolean,
): void {
  cli.screen.settle();
  if (asJson) printJson(cli.stdout, report);
  if (asJson || cli.verbosity.quiet) return;
  const { slices, lake, answers, files, targets } = report.found;
  const columns = [{ title: 'where' }, { title: 'found', align: 'right' as const }, { title: '' }];
  printTable(cli.stdout, columns, [
    ['raw', answers, 'answers'],
    ['lake', lake, `values in ${counted(slices, 'slice')}`],
    ['inbox, records, rest', files, 'files'],
    ...Object.entries(targets).map(([name, values]) => [
      name,
      values ?? 'not reached',
      values === null ? 'run the same command again' : 'values',
    ]),
  ]);
}
