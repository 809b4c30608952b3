/** rebuild: a warehouse from the lake, the state from its newest backup and the lake, or the history from the raw store. */
import type { Command } from 'commander';
import { EtlError } from '../../core/errors.ts';
import { runRebuild, runRebuildHistory } from '../../run/again.ts';
import { type RebuiltState, rebuildState } from '../../run/verify/rebuild-state.ts';
import { recoverFetches } from '../../run/verify/recover-fetches.ts';
import { placeOf } from '../../store/open.ts';
import type { Restored } from '../../store/sqlite/backups.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printOutcome } from '../print/outcome.ts';
import { printJson } from '../print/output.ts';
import { withApp } from '../with-app.ts';
import { withRun } from '../with-run.ts';

interface RebuildOptions {
  readonly target?: string;
  readonly state?: boolean;
  readonly history?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('rebuild')
    .summary('make a warehouse afresh from the lake')
    .description(
      'Makes a warehouse afresh from the lake. With --state: where the state (state.db) is damaged or lost, sets the damaged file aside and ' +
        'puts the newest sound backup in its place, or an empty state where there is none. What that lacks is found in the lake, the raw store ' +
        'and a warehouse, and the next run asks again for the rest. Every run that ends well makes a backup, and those of the last five days ' +
        'are kept under backups/. With --history: works out afresh from the raw store what rows were before they changed, moved or went, and ' +
        'then makes the warehouses.',
    )
    .option('--target <name>', 'duckdb or postgres; all that are switched on when absent')
    .option('--state', 'the state instead, from its newest backup and the lake')
    .option('--history', 'also the history of rows, from the raw store')
    .option('--json', 'print the result as one JSON document')
    .action((options: RebuildOptions) => rebuild(cli, options));
  addExamples(command, [
    ['rebuild --target duckdb', 'after the DuckDB file was lost'],
    ['rebuild --history', 'after verify said that a file of the history is damaged'],
    ['rebuild --state', 'after a command said that the state is damaged or lost'],
  ]);
}

async function rebuild(cli: CliContext, options: RebuildOptions): Promise<void> {
  const { target, state = false, history = false, json = false } = options;
  const given = Object.entries({ '--target': target !== undefined, '--history': history, '--state': state }).flatMap(
    ([option, isGiven]) => (isGiven ? option : []),
  );
  if (given.length > 1)
    throw new EtlError('usage', 'one_rebuild', `${given.join(' and ')} are two commands`, {
      hint: `first rebuild ${given.at(-1)}, then rebuild ${given[0]}`,
    });
  if (history) return printOutcome(cli, await withRun(cli, runRebuildHistory), json);
  if (!state) return printOutcome(cli, await withRun(cli, (context) => runRebuild(context, target)), json);
  const { home, stateUrl } = await cli.config();
  const at = { url: stateUrl, home };
  const restored = await rebuildState(at, cli.pipelines, cli.clock);
  await withApp(cli, recoverFetches);
  if (json) printJson(cli.stdout, { state: placeOf(at), ...restored });
  else cli.stdout.write(`${linesOf(placeOf(at), restored).join('\n')}\n`);
}

function linesOf(file: string, { lake, ...restored }: RebuiltState): string[] {
  const found = lake.slices.length;
  const lost = lake.lost.map(({ pipeline, day }) => `${pipeline} ${day}`);
  const changes = [
    ...(found === 0 ? [] : [`Found in the lake: ${found} slices that it did not know, or not as they are now.`]),
    ...(lost.length === 0 ? [] : [`Gone from the lake: ${lost.join(', ')}`]),
  ];
  const aside = lake.unproved.map((one) => `Not taken, since it does not hold what its name says: ${one}`);
  if (restored.was.is === 'sound' && changes.length === 0) return [`${file} is sound: nothing was changed.`, ...aside];
  return [
    ...restoredLines(file, restored),
    ...changes,
    ...aside,
    'The next run asks again what it lacks: partner-etl run',
  ];
}

function restoredLines(file: string, { was, set_aside: aside, backup, unsound }: Restored): string[] {
  if (was.is === 'sound') return [`${file} is sound.`];
  return [
    was.is === 'lost' ? `${file} was lost.` : `${was.problem}.`,
    ...(aside === null ? [] : [`What was there lies in ${aside} now.`]),
    ...unsound.map((one) => `Not taken, since it is damaged itself: ${one}`),
    backup === null
      ? 'There is no sound backup: the state is empty.'
      : `Restored from the backup of ${backup.day}: ${backup.file}`,
    'Push messages that had come since and that no run had taken in are lost.',
  ];
}
