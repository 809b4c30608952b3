/** Questions on a terminal, one after the other. What is typed for a secret is not shown and kept nowhere. */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { EtlError } from '../../core/errors.ts';
import { terminalText } from '../../core/redact.ts';
import type { CliContext, Input } from '../context.ts';
import type { Writer } from '../print/screen.ts';

export interface Question {
  readonly text: string;
  readonly isSecret?: boolean;
  /** What is wrong with an answer; null where it will do. An empty answer is always one. */
  readonly fault?: (answer: string) => string | null | Promise<string | null>;
}

interface AskerOptions {
  readonly input: Input;
  /** The terminal itself: the codes that draw a prompt must reach it. */
  readonly output: Writer;
  /** Ctrl-C at a question. */
  readonly onInterrupt: () => void;
  readonly signal: AbortSignal;
}

/** An asker on the terminal of this command; null where nobody sits at one. `notice`: what Ctrl-C at a question leaves behind. */
export function askerAt({ stdin, stdout, terminal, signal, interrupt }: CliContext, notice: string): Asker | null {
  if (stdin?.isTTY !== true || !stdout.isTTY) return null;
  interrupt.notice = notice;
  return new Asker({ input: stdin, output: terminal, signal, onInterrupt: () => interrupt.press('SIGINT') });
}

export class Asker {
  private readonly output: Writer;
  private readonly signal: AbortSignal;
  private readonly lines: AsyncIterator<string>;
  private readonly terminal: Interface;
  /** What is typed ahead of its question may be a secret. */
  private isMuted = true;

  constructor({ input, output, onInterrupt, signal }: AskerOptions) {
    this.output = output;
    this.signal = signal;
    const echo = new Writable({
      write: (chunk: Buffer, _, done) => {
        if (!this.isMuted) output.write(chunk.toString('utf8'));
        done();
      },
    });
    // A prompt that wraps is drawn again from its first line.
    Object.defineProperty(echo, 'columns', { get: () => output.columns });
    this.terminal = createInterface({ input, output: echo, terminal: true, historySize: 0 });
    // The terminal hands Ctrl-C over as a key while a line is edited.
    this.terminal.on('SIGINT', onInterrupt);
    this.terminal.on('line', () => {
      this.isMuted = true;
    });
    signal.addEventListener('abort', this.stop, { once: true });
    this.lines = this.terminal[Symbol.asyncIterator]();
  }

  /** The answer without white space around it; null for an empty one. Errors: `usage/no_answer`, the signal's reason. */
  async ask(question: Question): Promise<string | null> {
    for (;;) {
      const answer = (await this.line(question)).trim();
      if (answer === '') return null;
      const fault = (await question.fault?.(answer)) ?? null;
      if (fault === null) return answer;
      this.output.write(`  ${terminalText(fault)}\n`);
    }
  }

  /** Whether the answer begins with a y; `fallback` for an empty one. */
  async isYes(text: string, fallback: boolean): Promise<boolean> {
    const answer = await this.ask({ text: `${text} [${fallback ? 'Y/n' : 'y/N'}]` });
    return answer === null ? fallback : /^y/i.test(answer);
  }

  close(): void {
    this.signal.removeEventListener('abort', this.stop);
    this.terminal.close();
  }

  private readonly stop = () => this.terminal.close();

  private async line({ text, isSecret = false }: Question): Promise<string> {
    this.signal.throwIfAborted();
    this.isMuted = false;
    this.terminal.setPrompt(terminalText(`${text}: `));
    this.terminal.prompt();
    this.isMuted = isSecret;
    try {
      const { value, done } = await this.lines.next();
      this.signal.throwIfAborted();
      if (!done) return value;
      throw new EtlError('usage', 'no_answer', 'the input ended before all questions were answered', {
        hint: 'give the answers as options and add --yes; partner-etl init --help lists them',
      });
    } finally {
      if (isSecret) this.output.write('\n');
    }
  }
}
