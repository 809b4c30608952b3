/** What was opened and is still open, so that it can be closed in good order, and named when it does not close. */
import type { Log } from '../core/log.ts';

export class OpenParts {
  private readonly log: Log;
  private readonly parts: { readonly name: string; readonly close: () => Promise<unknown> }[] = [];

  constructor(log: Log) {
    this.log = log;
  }

  add(name: string, close: () => Promise<unknown>): void {
    this.parts.push({ name, close });
  }

  /** Those that are open, also while they are being closed. */
  get names(): string[] {
    return this.parts.map(({ name }) => name);
  }

  /** What was opened last is closed first; a failure is logged and does not keep the rest open. */
  async close(): Promise<void> {
    for (let part = this.parts.at(-1); part; part = this.parts.at(-1)) {
      try {
        await part.close();
      } catch (error) {
        this.log.error(`${part.name} was not closed in good order`, { error });
      }
      this.parts.pop();
    }
  }
}
