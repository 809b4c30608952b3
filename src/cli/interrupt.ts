/** Ctrl-C: the first asks the work to end cleanly, the second ends the program. */
import { EtlError, EXIT } from '../core/errors.ts';

export type InterruptName = 'SIGINT' | 'SIGTERM';

/** What a shell reports for a program that a signal ended. */
const EXIT_OF: Readonly<Record<InterruptName, number>> = { SIGINT: 130, SIGTERM: 143 };

export interface InterruptOptions {
  /** Says to the operator that the first one was heard. */
  readonly say: (text: string) => void;
  /** Ends the program at once. */
  readonly exit: (code: number) => void;
}

export class Interrupt {
  /** What the operator reads; a command that has no slices says something else. */
  notice = 'finishing the slice in hand, press again to stop at once';
  private readonly controller = new AbortController();
  private isPressed = false;
  private readonly options: InterruptOptions;

  constructor(options: InterruptOptions) {
    this.options = options;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  press(name: InterruptName): void {
    if (this.isPressed) {
      this.options.exit(EXIT_OF[name]);
      return;
    }
    this.isPressed = true;
    this.options.say(this.notice);
    const hint = 'start it again: it goes on where it stopped';
    this.controller.abort(new EtlError('failed', 'interrupted', `interrupted by ${name}`, { hint }));
  }

  /** Asks the work to end cleanly for a reason that is no signal; a signal that comes then is still the first. */
  ask(reason: EtlError): void {
    this.controller.abort(reason);
  }

  /** Ends the program at once, as failed, because something hangs. */
  giveUp(text: string): void {
    this.options.say(text);
    this.options.exit(EXIT.failed);
  }
}
