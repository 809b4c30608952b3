/** `serve`: the receiver of push messages, until Ctrl-C. */
import type { Command } from 'commander';
import { EtlError } from '../core/errors.ts';
import { serve } from '../serve/serve.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { withApp } from './with-app.ts';

interface ServeOptions {
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('serve')
    .summary('the receiver of push messages')
    .description(
      'Receives push messages and writes them to the inbox, from which `run push-messages` takes them into the warehouse.\n' +
        'Where it listens and what it takes stands in the section push of the settings. Runs until Ctrl-C.',
    )
    .option('--json', 'print the address as a line of JSON when it is ready')
    .action((options: ServeOptions) => start(cli, options));
  addExamples(command, [
    ['serve', 'says where it listens when it is ready'],
    ['serve --json', 'for a script'],
  ]);
}

async function start(cli: CliContext, { json }: ServeOptions): Promise<void> {
  const { push } = await cli.config();
  if (!push.enabled)
    throw new EtlError('usage', 'nothing_to_serve', 'the receiver of push messages is switched off', {
      hint: 'set push.enabled to true in the settings',
    });
  cli.interrupt.notice = 'answering what is in hand, press again to stop at once';
  const onReady = (url: string) => {
    if (json) cli.stdout.write(`${JSON.stringify({ url })}\n`);
    else cli.screen.print(`listening on ${url}`);
  };
  await withApp(cli, (context) => serve({ context, push, command: 'serve', onReady }));
}
