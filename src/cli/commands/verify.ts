import type { Command } from 'commander';
import { EXIT } from '../../core/errors.ts';
import { type Difference, type Verification, verify } from '../../run/verify/verify.ts';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { counted, printJson, printTable } from '../print/output.ts';
import { withApp } from '../with-app.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('verify')
    .description('compare raw store, lake and targets to the last digit, and run all checks; exit 1 on any difference')
    .option('--deep', 'also compare every row of the targets with the lake, in all columns: takes longer')
    .option('--json', 'print one JSON document')
    .action(async ({ json = false, deep = false }: { json?: boolean; deep?: boolean }) => {
      const result = await withApp(await orDemo(cli), (context) => verify(context, deep));
      const { differences } = result;
      cli.finish(differences.length > 0 ? EXIT.failed : EXIT.done);
      if (json) return printJson(cli.stdout, result);
      // A terminal may be too narrow for a table that holds the fixes whole.
      if (cli.stdout.isTTY) cli.stdout.write(differences.map(differenceText).join(''));
      else if (differences.length > 0)
        printTable(
          cli.stdout,
          [{ title: 'hop' }, { title: 'pipeline' }, { title: 'day' }, { title: 'problem' }, { title: 'fix' }],
          differences.map((d) => [d.hop, d.pipeline, d.day, d.problem, d.fix]),
        );
      return void cli.stdout.write(`${linesOf(result).join('\n')}\n`);
    });
  addExamples(command, [
    ['verify', 'prove that every hop holds the same, by counts and exact sums'],
    ['verify --deep', 'after somebody else wrote into a warehouse: row by row, in texts, flags and times too'],
  ]);
}

/** A fix that the next difference has too stands below that. */
function differenceText(
  { hop, pipeline, day, problem, fix }: Difference,
  at: number,
  all: readonly Difference[],
): string {
  const what = `${hop}: ${pipeline}${day === null ? '' : ` ${day}`}: ${problem}\n`;
  return all[at + 1]?.fix === fix ? what : `${what}  fix: ${fix}\n`;
}

/** Warnings, what was compared, and one line of verdict at the end. */
function linesOf(verification: Verification): string[] {
  const { deep, answers, pruned, slices, rows, targets, differences, warnings } = verification;
  const how = deep ? 'row by row, ' : '';
  const content = (of: { readonly slices: number; readonly rows: number }) =>
    `${counted(of.slices, 'slice')}, ${counted(of.rows, 'row')}`;
  const gone =
    pruned === 0 ? '' : `; ${pruned.toLocaleString('en-US')} more that slices were made of were pruned, by retention`;
  const verdict =
    differences.length === 0
      ? 'no difference: every hop holds the same, and no check that blocks is broken'
      : `${counted(differences.length, 'difference')}: each stands above with its fix`;
  const aside = warnings.length === 0 ? '' : `; ${counted(warnings.length, 'warning')}`;
  return [
    ...warnings.map((w) => `warning: ${w.hop}: ${w.pipeline} ${w.day ?? ''}: ${w.problem}; ${w.fix}`),
    `raw: ${counted(answers, 'answer')}${gone}`,
    `lake: ${content({ slices, rows })}`,
    ...targets.map((t) => `${t.target}: ${content(t)} compared with the lake, ${how}${counted(t.checks, 'check')} run`),
    `Verdict: ${verdict}${aside}`,
  ];
}
