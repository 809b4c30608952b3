/** A dictionary whose every text tries to break out of the page; only names are sound, which migrations and pipelines give. */
import type { Docs } from '../../src/docs/model.ts';

/** What a title of a product, or a mistake of ours, might hold. */
export const HOSTILE = `</script><img src=x onerror="alert(1)">'&amp;|\`[a](javascript:b)\u0000\u001b\nnew line`;

export const hostileDocs: Docs = {
  tables: [
    {
      ...{
        schema: 'mart',
        name: 'odd',
        kind: 'view',
        about: HOSTILE,
        grain: HOSTILE,
        source: HOSTILE,
        pipeline: 'odd',
      },
      ...{ arguments: [{ name: 'argument', about: HOSTILE }], returns: HOSTILE, traps: [HOSTILE] },
      columns: [
        {
          ...{ name: 'column', about: HOSTILE, duckdbType: HOSTILE, postgresType: HOSTILE, mayBeNull: null },
          ...{ isKey: true, isDay: false, source: HOSTILE, traps: [HOSTILE] },
        },
      ],
    },
  ],
  traps: [{ trap: HOSTILE, on: [HOSTILE] }],
  groups: [
    {
      title: HOSTILE,
      about: HOSTILE,
      relations: [
        {
          ...{ from: 'mart.odd', columns: ['column'], to: HOSTILE, toColumns: [HOSTILE] },
          ...{ cardinality: 'many to one', note: HOSTILE },
        },
      ],
    },
  ],
  questions: [
    {
      ...{ number: 1, slug: 'odd', question: HOSTILE, reading: [HOSTILE] },
      statements: [{ engine: 'SQL', sql: `SELECT '${HOSTILE}' -- \`\`\`\`` }],
      answer: { columns: [HOSTILE], rows: [[HOSTILE], [null], ['12.50']], truncated: true },
    },
  ],
};
