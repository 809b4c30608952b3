/** prune: what the settings under `retention` say is to go. */
import type { Command } from 'commander';
import type { PrunePlan, Stay } from '../../run/prune/plan.ts';
import { plannedPrune, runPrune } from '../../run/prune/prune.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printOutcome } from '../print/outcome.ts';
import { printJson, printTable } from '../print/output.ts';
import { withApp } from '../with-app.ts';
import { withRun } from '../with-run.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('prune')
    .description('delete what the settings under `retention` let go of; the nightly run does it too')
    .option('--dry-run', 'say what would be deleted and why the rest stays, and delete nothing')
    .option('--json', 'print one JSON document')
    .action(async ({ dryRun = false, json = false }: { dryRun?: boolean; json?: boolean }) => {
      if (dryRun) return printPrune(cli, await withApp(cli, plannedPrune), json);
      const { outcome, plan } = await withRun(cli, (context) => runPrune(context));
      if (outcome.errors.length > 0 || plan === null) return printOutcome(cli, outcome, json);
      printPrune(cli, plan, json);
      return cli.finish(outcome.exitCode);
    });
  addExamples(command, [['prune --dry-run', 'what would go, and why the rest stays']]);
}

const WHY: Readonly<Record<Stay, string>> = {
  not_loaded: 'not loaded in every target yet',
  hold: 'a held slice stands on it',
  pending: 'waits to be taken in',
  current: 'the only source of a slice',
  young: 'neither old enough, nor is the raw store too large',
};

function printPrune(
  cli: CliContext,
  { answers, kept, unnamed, files, runs, snapshots }: PrunePlan,
  asJson: boolean,
): void {
  cli.screen.settle();
  const listed = [...answers, ...unnamed].map((a) => ({
    pipeline: a.pipeline,
    file: a.file,
    answers: a.answers,
    bytes: a.bytes,
  }));
  if (asJson)
    printJson(cli.stdout, {
      deleted: [...listed, ...files, ...runs.map((run) => ({ kind: 'run', run }))],
      kept,
      snapshots: Object.fromEntries(snapshots),
    });
  if (asJson || cli.verbosity.quiet) return;
  const sums = new Map<string, { answers: number; bytes: number }>();
  const add = (what: string, count: number, bytes: number) => {
    const sum = sums.get(what) ?? { answers: 0, bytes: 0 };
    sums.set(what, { answers: sum.answers + count, bytes: sum.bytes + bytes });
  };
  for (const a of answers) add(`answers of ${a.pipeline}`, a.answers, a.bytes);
  for (const u of unnamed) add(`remains of ${u.pipeline}`, 1, u.bytes);
  for (const f of files) add(`${f.kind} files`, 1, f.bytes);
  if (runs.length > 0) add('records of runs', runs.length, 0);
  for (const [target, count] of snapshots) if (count > 0) add(`snapshots of ${target}`, count, 0);
  const right = 'right' as const;
  const columns = [
    { title: 'what' },
    { title: 'count', align: right },
    { title: 'MiB', align: right },
    { title: 'why' },
  ];
  printTable(cli.stdout, columns, [
    ...[...sums].map(([what, { answers: count, bytes }]) => [what, count, mebibytes(bytes), 'goes']),
    ...kept.map((k) => [`answers of ${k.pipeline}`, k.answers, mebibytes(k.bytes), `stays: ${WHY[k.why]}`]),
  ]);
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
