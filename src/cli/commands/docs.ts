/** `docs`: writes the data dictionary, as a page and as Markdown. */
import path from 'node:path';
import type { Command } from 'commander';
import { EtlError } from '../../core/errors.ts';
import { writeAtomic } from '../../disk/atomic.ts';
import { gatherDocs } from '../../docs/docs.ts';
import { markdownOf } from '../../docs/markdown.ts';
import type { Docs } from '../../docs/model.ts';
import { pageOf } from '../../docs/page/page.ts';
import type { Target } from '../../warehouse/target.ts';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { counted, printJson } from '../print/output.ts';
import { withApp } from '../with-app.ts';

interface Options {
  readonly out?: string;
  readonly answers?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('docs')
    .summary('write the data dictionary')
    .description(
      'Writes the data dictionary, dictionary.html and dictionary.md: every table and column with type, meaning, source and traps, ' +
        'how tables join, and questions with their SQL. It needs no warehouse and no credentials, unless answers are asked for.',
    )
    .option('--out <folder>', 'write here; default: docs under the home directory')
    .option('--answers', 'ask the warehouse the questions and show what it answers')
    .option('--json', 'print one JSON document')
    .action((options: Options) => docs(options, cli));
  addExamples(command, [
    ['docs', 'write it below the home directory'],
    ['docs --out handbook --answers', 'elsewhere, with the answers of the warehouse'],
  ]);
}

async function docs({ out, answers = false, json = false }: Options, cli: CliContext): Promise<void> {
  const at = await orDemo(cli);
  const { home } = await at.config();
  const sources = { pipelines: cli.pipelines, clock: cli.clock, tempDir: path.join(home.work, 'docs') };
  const made = answers
    ? await withApp(at, async ({ targets }) => gatherDocs({ ...sources, target: await filled(targets[0]) }))
    : await gatherDocs({ ...sources, target: null });
  const folder = out === undefined ? path.join(home.root, 'docs') : path.resolve(cli.cwd, out);
  const files = [];
  for (const [name, text] of [
    ['dictionary.html', pageOf(made)],
    ['dictionary.md', markdownOf(made)],
  ] as const) {
    const file = path.join(folder, name);
    await write(file, text);
    files.push({ file, bytes: Buffer.byteLength(text) });
  }
  if (json) return printJson(cli.stdout, { files, ...countsOf(made), answers });
  const { tables, columns, questions } = countsOf(made);
  const shown = files.map(({ file }) => `wrote ${path.relative(cli.cwd, file) || file}\n`);
  const counts = [counted(tables, 'table'), counted(columns, 'column'), counted(questions, 'question')];
  cli.stdout.write(`${shown.join('')}${counts.join(', ')}${answers ? ', with answers' : ''}\n`);
}

function countsOf({ tables, questions }: Docs) {
  const columns = tables.reduce((sum, table) => sum + table.columns.length, 0);
  return { tables: tables.length, columns, questions: questions.length };
}

async function filled(target: Target | undefined): Promise<Target> {
  if (target === undefined)
    throw new EtlError('usage', 'no_target', 'no target is switched on, so nobody can answer', {
      hint: 'switch a target on in the settings, or leave --answers out',
    });
  if (await target.exists()) return target;
  throw new EtlError('failed', 'no_warehouse', `there is no ${target.name} warehouse yet that could answer`, {
    concern: { target: target.name },
    hint: 'load something first: partner-etl run; or leave --answers out',
  });
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeAtomic(file, text);
  } catch (cause) {
    throw new EtlError('failed', 'docs_write', `${file} cannot be written`, {
      cause,
      concern: { file },
      hint: 'name a folder with --out that this user may write to',
    });
  }
}
