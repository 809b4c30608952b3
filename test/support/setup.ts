/**
 * Makes what the files of a run need by their names, at once: `….postgres.test.ts` a server of Postgres, `….built.test.ts` the program
 * as a process of its own, `….whole.test.ts` both. Others wait for neither.
 */
import type { TestProject } from 'vitest/node';
import { build } from './built.ts';
import { startPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of a throw-away server, superuser rights. Take a database of your own: see postgres-database.ts. */
    pgUrl: string;
    /** The folder of the built program. */
    build: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const files = project.vitest.state.getPaths();
  const needs = (...kinds: string[]) => files.some((file) => kinds.some((kind) => file.endsWith(`.${kind}.test.ts`)));
  const [server] = await Promise.all([
    needs('postgres', 'whole') ? startPostgres() : null,
    needs('built', 'whole') ? build().then((folder) => project.provide('build', folder)) : null,
  ]);
  if (server) project.provide('pgUrl', server.url);
  return async () => server?.stop();
}
