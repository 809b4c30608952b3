import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { withApp } from '../with-app.ts';
import { type AnswerOptions, addAnswerOptions, answer, chosenTarget } from './options.ts';
import { sqlAsOperand, sqlFrom } from './text.ts';

interface Options extends AnswerOptions {
  readonly file?: string;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('sql')
    .description('query the warehouse, read-only: from the argument, a file or stdin; redirected, every row')
    .argument('[query]', 'one SQL statement')
    .option('--file <path>', 'read the statement from here');
  addAnswerOptions(command).action(async (query: string | undefined, options: Options) => {
    const sql = await sqlFrom(cli, query, options.file);
    await withApp(await orDemo(cli), ({ targets }) => answer(cli, chosenTarget(targets, options.target), sql, options));
  });
  sqlAsOperand(command);
  addExamples(command, [
    ['sql "SELECT status_group, sum(commission) FROM warehouse.fact_order_item GROUP BY 1"', 'commission by status'],
    ['sql "FROM etl.receipt" --format csv > receipts.csv', 'all rows, as CSV'],
    ['sql --file question.sql --json', 'what a file asks; partner-etl sql < question.sql does the same'],
  ]);
}
