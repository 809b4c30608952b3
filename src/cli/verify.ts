import type { Command } from 'commander';
import { EXIT } from '../core/errors.ts';
import { verify } from '../run/verify.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { printJson, printTable } from './output.ts';
import { withApp } from './with-app.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('verify')
    .description('compare vault, lake and targets to the last digit, and run all checks; exit 1 on any difference')
    .option('--json', 'print one JSON document')
    .action(async ({ json = false }: { json?: boolean }) => {
      const result = await withApp(cli, verify);
      const { answers, pruned, slices, rows, differences, warnings } = result;
      cli.finish(differences.length > 0 ? EXIT.failed : EXIT.done);
      if (json) return printJson(cli.stdout, result);
      if (differences.length > 0)
        printTable(
          cli.stdout,
          [{ title: 'hop' }, { title: 'pipeline' }, { title: 'day' }, { title: 'problem' }, { title: 'mend' }],
          differences.map((d) => [d.hop, d.pipeline, d.day, d.problem, d.mend]),
        );
      for (const w of warnings)
        cli.stdout.write(`warning: ${w.hop}: ${w.pipeline} ${w.day ?? ''}: ${w.problem}; ${w.mend}\n`);
      const n = (value: number) => value.toLocaleString('en-US');
      const found = differences.length === 0 ? 'no difference' : `${n(differences.length)} differences`;
      if (pruned > 0) cli.stdout.write(`${n(pruned)} answers that slices were made of were pruned, by retention\n`);
      cli.stdout.write(`${n(answers)} answers, ${n(slices)} slices, ${n(rows)} rows compared: ${found}\n`);
    });
  addExamples(command, [['verify', 'prove that every hop holds the same']]);
}
