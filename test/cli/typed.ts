/** `partner-etl <words>` as it is typed in the installation of a world. */
import { CliContext } from '../../src/cli/context.ts';
import { Interrupt } from '../../src/cli/interrupt.ts';
import { runProgram } from '../../src/cli/program.ts';
import { packageRoot, type World } from '../support/nights.ts';
import { TextWriter } from './surroundings.ts';

export interface Typed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface TypedOptions {
  /** Laid over the world's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdout?: TextWriter;
  readonly stderr?: TextWriter;
}

export async function typedIn(world: World, words: readonly string[], options: TypedOptions = {}): Promise<Typed> {
  const { env = {}, stdout = new TextWriter(), stderr = new TextWriter() } = options;
  const interrupt = new Interrupt({ say: () => undefined, exit: () => undefined });
  const { clock, home: cwd, pipelines } = world;
  const around = { env: { ...world.env, ...env }, cwd, packageRoot, version: '1.2.3', clock, interrupt, pipelines };
  const code = await runProgram(words, new CliContext({ ...around, stdout, stderr }));
  return { code, out: stdout.text, err: stderr.text };
}
