/** Opens the app for the length of one command. */
import { openApp } from '../app.ts';
import type { RunContext } from '../run/context.ts';
import type { CliContext } from './context.ts';

export async function withApp<T>(cli: CliContext, work: (context: RunContext) => Promise<T>): Promise<T> {
  const { clock, log, progress, signal } = cli;
  const app = await openApp({ config: await cli.config(), clock, log, progress, signal, random: Math.random });
  try {
    return await work(app.context);
  } finally {
    await app.close();
  }
}
