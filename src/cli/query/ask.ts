/** `ask`: the questions that come with the program, listed or answered. */
import type { Command } from 'commander';
import { EtlError } from '../../core/errors.ts';
import { readQuestions } from '../../warehouse/dictionary/questions.ts';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { fold } from '../print/fold.ts';
import { printCsv, printJson } from '../print/output.ts';
import { withApp } from '../with-app.ts';
import { candidates, type Known } from './find-question.ts';
import { type AnswerOptions, addAnswerOptions, answer, chosenTarget } from './options.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('ask')
    .description('the questions that come with the program: list them, or answer one')
    .argument('[question...]', 'its number, or some of its words; all are listed when there are none');
  addAnswerOptions(command).action(async (words: string[], options: AnswerOptions) => {
    if (words.length === 0) return list(cli, options);
    return withApp(await orDemo(cli), async ({ targets }) => {
      const target = chosenTarget(targets, options.target);
      const question = chosenQuestion(await readQuestions(target.dialect), words);
      const { number, slug, question: text, reading, sql } = question;
      const width = Math.min(cli.stdout.columns, WIDEST);
      const isTable = options.format === 'table' && options.json !== true;
      if (isTable) cli.stdout.write(`${number}. ${text}\n\n`);
      await answer(cli, target, sql, options, { number, slug, question: text, reading });
      if (isTable) cli.stdout.write(`\n${reading.map((line) => `${fold(line, width, '- ')}\n`).join('')}`);
    });
  });
  addExamples(command, [
    ['ask', 'which questions there are'],
    ['ask 1', 'the first one'],
    ['ask best sub-ids', 'the one with these words'],
    ['ask 8 --format csv > not-paid.csv', 'its answer, as CSV'],
  ]);
}

async function list({ stdout }: CliContext, { target, format, json }: AnswerOptions): Promise<void> {
  const questions = await readQuestions(target === 'postgres' ? 'postgres' : 'duckdb');
  if (json || format === 'json') return printJson(stdout, questions);
  if (format === 'csv')
    return printCsv(
      stdout,
      ['number', 'question'],
      questions.map(({ number, question }) => [number, question]),
    );
  const lines = questions.map(({ number, question }) =>
    fold(question, Math.min(stdout.columns, WIDEST), `${number}. `.padStart(4)),
  );
  return void stdout.write(`${lines.join('\n')}\n\npartner-etl ask NUMBER, or some of the words, answers one.\n`);
}

/** Errors: `usage/no_question`, `usage/ambiguous_question`. */
function chosenQuestion<Q extends Known>(questions: readonly Q[], words: readonly string[]): Q {
  const said = words.join(' ');
  const [only, ...others] = candidates(questions, said);
  if (only === undefined)
    throw new EtlError('usage', 'no_question', `no question is or has "${said}"`, {
      hint: 'partner-etl ask lists the questions',
    });
  if (others.length === 0) return only;
  const lines = [only, ...others].map(({ number, question }) => `${number}. ${question}`);
  throw new EtlError('usage', 'ambiguous_question', [`"${said}" fits several questions:`, ...lines].join('\n'), {
    hint: `name one by its number: partner-etl ask ${only.number}`,
  });
}

const WIDEST = 110;
