/** The simulation as a process of its own, as `npm run sim` starts it. */
import { execFile } from 'node:child_process';
import path from 'node:path';

/** `build` is where the kits are compiled to (test/support/built.ts). `code` is a signal's name where one ended it. */
export function runSim(build: string, args: readonly string[]): Promise<{ code: number | string; text: string }> {
  const main = path.join(build, 'test', 'proof', 'sim', 'main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { maxBuffer: 1e9 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.signal ?? error.code ?? 1), text: `${stdout}${stderr}` });
    });
  });
}

/** The seeds that went wrong, each with its journal: it may not go wrong again when it is run alone. */
export function wrongIn(text: string): string[] {
  return text.split(/^(?=seed |\d+ seeds,)/m).filter((part) => part.includes('\n  WRONG '));
}
