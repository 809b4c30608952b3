// One night of the built program that kills itself at a named step: arguments are the build's folder, the step (or step and
// pipeline, `normalised products`), how many of its occurrences pass before, the time (ms) that it is, and the pipelines, all
// when none is named. Settings come from the environment.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [build, stopAt, occurrence, nowMs, ...names] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(build, file)).href);
const { openApp } = await load('src/app.js');
const { loadConfig } = await load('src/config.js');
const { runNight } = await load('src/run/night.js');

/** Pauses up to this pass at once, as they do for the nights of this process's parent; timeouts are longer. */
const LONGEST_PAUSE_MS = 100_000;
let ahead = Number(nowMs) - Date.now();
const now = () => Date.now() + ahead;
const clock = {
  now,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const dueMs = now() + ms;
      const pass = () => {
        ahead = Math.max(ahead, dueMs - Date.now());
        resolve();
      };
      const timer = ms <= LONGEST_PAUSE_MS ? setImmediate(pass) : setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
      signal?.addEventListener('abort', () => {
        clearTimeout(timer);
        clearImmediate(timer);
        reject(signal.reason);
      });
    }),
};
const nothing = () => {};
let left = Number(occurrence);
const app = await openApp({
  config: await loadConfig({ env: process.env, cwd: process.cwd(), packageRoot: path.dirname(build) }),
  clock,
  random: Math.random,
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  progress: { begin: nothing, window: nothing, end: nothing, note: nothing },
  signal: new AbortController().signal,
  step: (name, about) => {
    const isHere = `${name} ${about} `.startsWith(`${stopAt} `);
    if (isHere && left-- === 0) process.kill(process.pid, process.env.TEST_SIGNAL ?? 'SIGKILL');
  },
});
const { exitCode } = await runNight(app.context, names);
await app.close();
process.exitCode = exitCode;
