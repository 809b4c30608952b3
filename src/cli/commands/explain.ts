import type { Command } from 'commander';
import { prunedWords } from '../../core/pruned.ts';
import { type Explanation, explain } from '../../run/status/explain.ts';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { printJson, printTable } from '../print/output.ts';
import { type DayWord, dayOn, dayWord } from '../values.ts';
import { withApp } from '../with-app.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('explain')
    .description('every fetch, version, reject and hold of one slice')
    .argument('<pipeline>', 'pipeline of the slice')
    .argument('<day>', 'day of the slice: yyyy-mm-dd, today, yesterday or today-7', dayWord)
    .option('--json', 'print one JSON document')
    .action(async (pipeline: string, day: DayWord, { json = false }: { json?: boolean }) => {
      const explanation = await withApp(await orDemo(cli), (context) =>
        explain(context, pipeline, dayOn(context.today, day)),
      );
      if (json) printJson(cli.stdout, explanation);
      else printExplanation(cli, explanation);
    });
  addExamples(command, [
    ['explain orders 2026-03-14', 'why that day says what it says'],
    ['explain orders yesterday', 'the newest day there can be'],
  ]);
}

function printExplanation(cli: CliContext, e: Explanation): void {
  const write = (line: string) => cli.stdout.write(`${line}\n`);
  if (!e.content) write(`${e.pipeline} ${e.day} was never loaded.`);
  else {
    const { rows, rejects, duplicates, settled, digest, fetch_id } = e.content;
    write(
      `${e.pipeline} ${e.day}: ${rows} rows, ${rejects} rejects, ${duplicates} duplicates dropped, ${settled ? 'settled' : 'open'}`,
    );
    write(`content ${digest}, from fetch ${fetch_id}`);
    for (const [column, sum] of Object.entries(e.content.sums)) write(`  ${column.padEnd(28)} ${sum ?? '∅'}`);
  }
  if (e.moved) write('An item of this day turned up on another day; the service will be asked again.');
  if (e.held)
    write(`Held since ${e.held.held_at}: ${e.held.detail}. partner-etl release ${e.pipeline} ${e.day} applies it.`);
  if (e.held_by_check)
    write(
      `Held since ${e.held_by_check.held_at}: ${e.held_by_check.detail}. partner-etl release ${e.pipeline} ${e.day} publishes it in spite of that.`,
    );
  if (e.fetches.length > 0) {
    const shown =
      e.fetches.length === e.fetch_count
        ? ''
        : ` (the last ${e.fetches.length} of ${e.fetch_count.toLocaleString('en-US')})`;
    write(`\nFetches${shown}:`);
    printTable(
      cli.stdout,
      [
        { title: 'fetch' },
        { title: 'window' },
        { title: 'at' },
        { title: 'status', align: 'right' },
        { title: 'items', align: 'right' },
        { title: 'sha256' },
        { title: 'error' },
      ],
      e.fetches.map((f) => [
        f.fetch_id,
        f.window_from ? `${f.window_from}..${f.window_to}` : (f.notes?.file_name ?? ''),
        f.finished_at,
        f.status,
        f.items,
        f.sha256?.slice(0, 12),
        f.pruned_at === undefined ? f.error_message : `answer ${prunedWords(f.pruned_at)}`,
      ]),
    );
  }
  for (const { target, receipts, error } of e.targets) {
    write(`\nVersions in ${target}:${error ? ` ${error}` : ''}`);
    if (receipts)
      printTable(
        cli.stdout,
        receipts.columns.map((title) => ({ title })),
        receipts.rows,
      );
  }
  if (e.drift.length > 0) {
    write('\nDrift in the answer that brought it (its other days too):');
    printTable(
      cli.stdout,
      [{ title: 'rule' }, { title: 'field' }, { title: 'count', align: 'right' }, { title: 'example' }],
      e.drift.map((d) => [d.kind, d.field, d.count, d.example]),
    );
  }
  if (e.rejects.length === 0) return;
  write('\nRejects:');
  printTable(
    cli.stdout,
    [{ title: 'item', align: 'right' }, { title: 'reason' }, { title: 'detail' }, { title: 'raw' }],
    e.rejects.map((r) => [r.item, r.reason, r.detail, r.raw]),
  );
}
