import { type Command, Option } from 'commander';
import { EtlError } from '../core/errors.ts';
import type { QueryResult, Target } from '../warehouse/target.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { printCsv, printJson, printTable } from './output.ts';
import { wholeNumber } from './values.ts';
import { withApp } from './with-app.ts';

interface Options {
  readonly target?: string;
  readonly format: 'table' | 'csv' | 'json';
  readonly json?: boolean;
  readonly limit: number;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('sql')
    .description('query the warehouse, read-only')
    .argument('<query>', 'one SQL statement')
    .option('--target <name>', 'duckdb or postgres; the first that is switched on when absent')
    .addOption(
      new Option(
        '--format <form>',
        "how to print; csv puts a ' before a text that a spreadsheet would take for a formula",
      )
        .choices(['table', 'csv', 'json'])
        .default('table'),
    )
    .option('--json', 'the same as --format json')
    .option('--limit <rows>', 'rows to print at the most', wholeNumber(1, 10_000_000), 1000)
    .action(async (query: string, options: Options) => {
      const result = await withApp(cli, (context) =>
        chosen(context.targets, options.target).query(query, options.limit),
      );
      print(cli, result, options.json ? 'json' : options.format);
      if (result.truncated) cli.screen.print(`only the first ${options.limit} rows are shown; --limit shows more`);
    });
  addExamples(command, [
    ['sql "SELECT status_group, sum(commission) FROM warehouse.fact_order_item GROUP BY 1"', 'commission by status'],
    ['sql "FROM etl.receipt" --format csv', 'as CSV'],
  ]);
}

function chosen(targets: readonly Target[], name: string | undefined): Target {
  const found = name === undefined ? targets[0] : targets.find((t) => t.name === name);
  if (found) return found;
  throw new EtlError(
    'usage',
    'no_target',
    name === undefined ? 'no target is switched on' : `no target "${name}" is switched on`,
    {
      hint: `switched on: ${targets.map((t) => t.name).join(', ') || 'none'}`,
    },
  );
}

function print(cli: CliContext, { columns, rows }: QueryResult, format: Options['format']): void {
  if (format === 'csv') printCsv(cli.stdout, columns, rows);
  else if (format === 'json')
    printJson(
      cli.stdout,
      rows.map((row) => Object.fromEntries(columns.map((c, i) => [c, row[i]]))),
    );
  else
    printTable(
      cli.stdout,
      columns.map((title) => ({ title })),
      rows.map((row) => row.map((cell) => cell ?? '∅')),
    );
}
