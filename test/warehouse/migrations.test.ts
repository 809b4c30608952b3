import { describe, expect, it } from 'vitest';
import { pendingMigrations, readMigrations } from '../../src/warehouse/migrations.ts';

/** Of each file as it was when programs began to apply it; a further one gets a further line, and no line is ever changed. */
const APPLIED = {
  duckdb: [
    'ba3b2179fc0c92179a8cd8c01453756ee0061902207936b996847b719ea28c00',
    '185c456724f02255928f189b66cf1f19841bbc7b2fa4266ce96d099b17f4af03',
    '7e94d2adf6acde638e407409120a8b05f369689d10e50c9f7869ed75b9d70a8a',
    '417a38eb5f6d0fd7ee907dc8f58b68bd325ca865e9821ebe7cba8e41021b4a49',
    '772c6d7ebba4298b8be74e1de7a52384dae7842ebc4a9191eae1e9bb8fd1f0f4',
    '49fc3d0b72da4e1a1e038b813638eb9f2974c5b3b0832507f83c22eb4f566bdc',
    '1300211e683a8c18fa5b6c8d0ad956440a2f4dc65921ab61a8be3fae79998020',
    '2cd621ad478de51600c9146953e2ebe2693b3775dda0736bbaa963fd313761b9',
    '9ab7dfc6806ad8dc19dac48b28032a661c41b57e8520567fddcc44a05901cb60',
    '0ccd47d9f69c8ac4522be6ee5b728079c519c5092e5f6d345eb276decacd2732',
    '08f8b8673a35683ff0548c492c6734a9dbcc428b6f69f875d084eb0daa2070e5',
  ],
  postgres: [
    'd339fd5b58b4bbd2a74fd9c5824cd92da2aba6297e08e61051d173efd708bd2f',
    '783722a5ca791141b5f6cff03da3b6dccbb3f2087911c4afe9c147c6b4313cfb',
    '628a2a5b12590465371d79259f11648f70f00e694536608cb79fbbf0efb1c61b',
    '39c60d1e5391e9dfad729a6997b679adb334127b73a16ae9a17655e6aa29c1fd',
    '6927b292b1c3b9954a0eb6a1711bda9d8d59d8ae9c57eaa2af1e5384e07150b7',
    '6e078261b333b7bc3842ad95963fba5452c0b9190bfd0d133e247af1a776c95c',
    'b744f9519896d147b45dcc70af922bfee0b680e49626a44dc75a46d93533dd12',
    'c51cf700d52628e2367ffba7583954a530a9267755fd74a77eb5bc13a3b1a2c6',
    '469ce7dd4fa88a95b1195e546bafa3cf0aedece0593903e34d9559eb6d0fd83b',
    'd79512d15a503a4fbab9d469492b5e745e1bfea7697df599897e1ca2afdbaa81',
    '64ca886f5491e657deed8c08000947dba1a9b98b2b4cf9cfb61e5a3ba1db59fb',
    '335bd2afe3ae091e83de3a0a3b101efc94f335e45e25d65e4addb746c0b1f157',
    'ae079fa8c0df75f651faf0396a5090ff44a86b7baa019fb45138108558534e0a',
  ],
} as const;

describe.each(['duckdb', 'postgres'] as const)('migrations of %s', (engine) => {
  it('are the files that programs have applied, unchanged, numbered without a gap', async () => {
    const ours = await readMigrations(engine);
    expect(ours.map(({ sha256 }) => sha256).slice(0, APPLIED[engine].length)).toEqual(APPLIED[engine]);
    expect(ours.map(({ number }) => number)).toEqual(ours.map((_, i) => i + 1));
  });
});

it('one that was applied with another text is refused by its name', async () => {
  const ours = await readMigrations('postgres');
  const applied = [{ number: 1, name: '0001_schemas_and_bookkeeping.sql', sha256: '0'.repeat(64) }];
  expect(() => pendingMigrations(ours, applied)).toThrow(/0001_schemas_and_bookkeeping\.sql is not the one/);
});
