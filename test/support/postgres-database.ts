/** A database of one's own on the throw-away server. */
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { type Database, makeDatabase } from './databases.ts';

export type { Database };

/** Empty, or a copy of a template that nobody is connected to. Only in files called `*.postgres.test.ts`. */
export function freshDatabase(template: Database | null = null): Promise<Database> {
  return makeDatabase(inject('pgUrl'), `t_${randomBytes(6).toString('hex')}`, template);
}
