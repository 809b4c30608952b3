import { describe, expect, it } from 'vitest';
import { pendingMigrations, readMigrations } from '../../src/warehouse/schema/migrations.ts';

/** Of each file as it was when programs began to apply it; a further one gets a further line, and no line is ever changed. */
const APPLIED = ['f389f697588e3d171def7c4d2b520bc66d1c85b378f98ef81f366d3f07ef2151'];

describe.each(['duckdb', 'postgres'] as const)('migrations of %s', (engine) => {
  it('are the files that programs have applied, unchanged, numbered without a gap', async () => {
    const ours = await readMigrations(engine);
    expect(ours.map(({ sha256 }) => sha256).slice(0, APPLIED.length)).toEqual(APPLIED);
    expect(ours.map(({ number }) => number)).toEqual(ours.map((_, i) => i + 1));
  });
});

it('one that was applied with another text is refused by its name', async () => {
  const ours = await readMigrations('postgres');
  const applied = [{ number: 1, name: '0001_bookkeeping.sql', sha256: '0'.repeat(64) }];
  expect(() => pendingMigrations(ours, applied)).toThrow(/0001_bookkeeping\.sql is not the one/);
});
