/** The simulation as a process of its own, as `npm run sim` starts it. */
import { execFile } from 'node:child_process';
import path from 'node:path';

/** `build` is where the kits are compiled to (test/support/built.ts). */
export function runSim(build: string, args: readonly string[]): Promise<{ code: number; text: string }> {
  const main = path.join(build, 'test', 'proof', 'sim', 'main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { maxBuffer: 1e9 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), text: `${stdout}${stderr}` });
    });
  });
}
