import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Command, CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { fakeContext } from '../cli/surroundings.ts';
import { markdownFiles } from './markdown.ts';
import { commandsIn } from './readme-commands.ts';
import { REPOSITORY } from './sources.ts';

const { scripts = {} } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as {
  scripts?: Record<string, string>;
};

/** Words of npm itself that a reader may be told to type. */
const NPM_WORDS = ['ci', 'install', 'i', 'pack', 'link'];

/** `[--from D]` in a list of commands is one that could be typed: brackets off, placeholders filled in. */
function filledIn(words: readonly string[]): string[] {
  return words.map((word) => {
    const bare = word.replaceAll(/^\[|\]$|…/g, '');
    if (!/^[A-Z]+$/.test(bare)) return bare;
    return /^(?:D|DAY)$/.test(bare) ? '2026-03-01' : 'orders';
  });
}

/** Why the command line refuses these words; null when it takes them. No action is run. */
async function refusalOf(words: readonly string[]): Promise<string | null> {
  const { context, stderr } = fakeContext();
  const program = buildProgram(context);
  const disarm = (command: Command) => {
    if (command.commands.length === 0) command.action(() => undefined);
    command.commands.forEach(disarm);
  };
  disarm(program);
  try {
    await program.parseAsync(words, { from: 'user' });
    return null;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? null : stderr.text;
    throw thrown;
  }
}

/** Why npm would refuse these words; null when it takes them. */
function npmRefusalOf([word = '', name = '']: readonly string[]): string | null {
  if (NPM_WORDS.includes(word)) return null;
  const script = word === 'run' ? name : word === 't' ? 'test' : word;
  return script in scripts ? null : `package.json has no script "${script}"`;
}

describe('the commands in README and docs/', () => {
  test('exist, with the options and arguments they are shown with', async () => {
    const wrong: string[] = [];
    let count = 0;
    for (const { file, text } of markdownFiles())
      for (const { program, words, line } of commandsIn(text)) {
        count += 1;
        const refusal = program === 'npm' ? npmRefusalOf(words) : await refusalOf(filledIn(words));
        if (refusal !== null) wrong.push(`${file}:${line}: ${program} ${words.join(' ')}: ${refusal}`);
      }
    expect(count).toBeGreaterThan(60);
    expect(wrong).toEqual([]);
  });

  test('are all that there are', () => {
    const names = buildProgram(fakeContext().context).commands.map((command) => command.name());
    expect(names.length).toBeGreaterThan(15);
    const missing = (file: string) => {
      const text = readFileSync(path.join(REPOSITORY, file), 'utf8');
      return names.filter((name) => !text.includes(`\`npx partner-etl ${name}`));
    };
    expect({ readme: missing('README.md'), commands: missing('docs/commands.md') }).toEqual({
      readme: [],
      commands: [],
    });
  });

  test('placeholders are filled in', () => {
    const words = ['backfill', 'PIPELINE…', '--from', 'D', '[--to', 'DAY]', '[--refetch]'];
    expect(filledIn(words)).toEqual(['backfill', 'orders', '--from', '2026-03-01', '--to', '2026-03-01', '--refetch']);
  });

  test.each<[string[], boolean]>([
    [['run'], true],
    [['run', 'orders', '--json', '--verbose'], true],
    [['backfill', 'orders', '--from', '2026-01-01', '--to', '2026-01-31', '--refetch'], true],
    [['--help'], true],
    [['runn'], false],
    [['run', '--jsn'], false],
    [['backfill', 'orders'], false],
  ])('the command line takes %j: %s', async (words, isTaken) => {
    expect((await refusalOf(words)) === null).toBe(isTaken);
  });
});

describe('finding commands in a Markdown text', () => {
  const found = (text: string) => commandsIn(text).map(({ program, words }) => [program, ...words].join('|'));

  test.each<[string, string, string[]]>([
    ['a fenced block', '```sh\nnpm ci\nnpx partner-etl run --json\n```', ['npm|ci', 'partner-etl|run|--json']],
    ['a prompt and a variable', '```\n$ PARTNER_ETL_HOME=x npx partner-etl status\n```', ['partner-etl|status']],
    [
      'a sequence',
      '```bash\nnpm ci && npm start; partner-etl doctor | less\n```',
      ['npm|ci', 'npm|start', 'partner-etl|doctor'],
    ],
    ['quotes', '```sh\nnpx partner-etl sql "SELECT 1 # | x"\n```', ['partner-etl|sql|SELECT 1 # | x']],
    ['a comment', '```sh\nnpx partner-etl plan # npm nothing\n```', ['partner-etl|plan']],
    ['a redirection', '```sh\nnpx partner-etl plan --json > plan.json\n```', ['partner-etl|plan|--json']],
    ['a continued line', '```sh\nnpx partner-etl plan \\\n  --json\n```', ['partner-etl|plan|--json']],
    ['inline code', 'Run `npx partner-etl run`, then `npm test`.', ['partner-etl|run', 'npm|test']],
    ['another language', '```sql\nnpm nothing\n```', []],
    ['prose', 'npm nothing', []],
  ])('%s', (_, text, commands) => {
    expect(found(text)).toEqual(commands);
  });
});
