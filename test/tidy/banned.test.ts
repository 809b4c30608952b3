import { describe, expect, test } from 'vitest';
import { codeOnly, sourcesIn } from './sources.ts';

interface Ban {
  readonly call: string;
  readonly pattern: RegExp;
  /** Why, and what to take instead. */
  readonly because: string;
  /** Files, or folders that end in a slash, where it may stand. */
  readonly allowed: readonly string[];
  /** Where it is banned; everywhere when absent. */
  readonly within?: readonly string[];
}

const BANS: readonly Ban[] = [
  {
    call: 'Date.now()',
    pattern: /\bDate\s*\.\s*now\b/,
    because: 'time comes in as a Clock',
    allowed: ['src/core/clock.ts'],
  },
  {
    call: 'new Date() without an argument',
    pattern: /\bnew\s+Date\s*(?:\(\s*\)|(?!\s*\())/,
    because: 'time comes in as a Clock',
    allowed: ['src/core/clock.ts'],
  },
  {
    call: 'performance.now()',
    pattern: /\bperformance\s*\.\s*now\b|\bhrtime\b/,
    because: 'time comes in as a Clock',
    allowed: ['src/core/clock.ts'],
  },
  {
    call: 'Math.random()',
    pattern: /\bMath\s*\.\s*random\b/,
    because: 'randomness comes in as an argument',
    allowed: ['src/core/ids.ts', 'src/cli/', 'src/main.ts'],
  },
  {
    call: 'setTimeout and its like',
    pattern: /\bset(?:Timeout|Interval)\s*\(|\bscheduler\s*\.\s*wait\b/,
    because: 'waiting is the Clock’s matter',
    // Stalls and delays of the simulated service are real ones.
    allowed: ['src/core/clock.ts', 'src/serve/', 'src/sandbox/'],
  },
  {
    call: 'console',
    pattern: /\bconsole\s*\./,
    because: 'people read the screen, machines the log',
    allowed: [],
  },
  {
    call: 'process.exit and process.exitCode',
    pattern: /\bprocess\s*\.\s*exit(?:Code)?\b/,
    because: 'only the entry ends the program',
    allowed: ['src/main.ts'],
  },
  {
    call: 'process.env',
    pattern: /\bprocess\s*\.\s*env\b/,
    because: 'the environment comes in as settings',
    allowed: ['src/main.ts'],
  },
  {
    call: 'process.stdout and process.stderr',
    pattern: /\bprocess\s*\.\s*std(?:out|err|in)\b/,
    because: 'output goes through the context of the command',
    allowed: ['src/main.ts'],
  },
  {
    call: 'JSON.parse',
    pattern: /\bJSON\s*\.\s*parse\b/,
    because: 'it loses digits of money',
    allowed: [],
    within: ['src/normalise/', 'src/json/'],
  },
  {
    call: 'parseFloat and toFixed',
    pattern: /\bparseFloat\b|\.toFixed\s*\(/,
    because: 'no money passes through a JavaScript number',
    allowed: [],
    within: [
      'src/json/',
      'src/normalise/',
      'src/extract/',
      'src/lake/',
      'src/warehouse/',
      'src/engine/',
      'src/partner/',
    ],
  },
  {
    call: 'an error told apart by its text',
    pattern: /\.message\s*(?:===|!==|\.(?:includes|startsWith|match|endsWith)\s*\()/,
    because: 'only kind and code are compared',
    // Whether a cause only repeats the message decides what is printed, nothing else.
    allowed: ['src/cli/print/failure.ts'],
  },
  { call: 'eval', pattern: /\beval\s*\(|\bnew\s+Function\b/, because: 'no code from text', allowed: [] },
];

const sources = sourcesIn(['src', 'pipelines']).map(({ file, text }) => ({ file, lines: codeOnly(text).split('\n') }));

function found({ pattern, allowed, within }: Ban): string[] {
  return sources
    .filter(({ file }) => !allowed.some((place) => file === place || (place.endsWith('/') && file.startsWith(place))))
    .filter(({ file }) => within === undefined || within.some((place) => file.startsWith(place)))
    .flatMap(({ file, lines }) => lines.flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}`] : [])));
}

describe('banned calls', () => {
  test('enough lines were looked at', () => {
    expect(sources.reduce((sum, { lines }) => sum + lines.length, 0)).toBeGreaterThan(3000);
  });

  test.each(BANS)('$call: $because', (ban) => {
    expect(found(ban)).toEqual([]);
  });

  test.each([
    ['Date.now()', 'const a = Date.now();', true],
    ['new Date() without an argument', 'const a = new Date();', true],
    ['new Date() without an argument', 'const a = new Date;', true],
    ['new Date() without an argument', 'const a = new Date(ms);', false],
    ['setTimeout and its like', 'setTimeout(stop, 1)', true],
    ['setTimeout and its like', 'clearTimeout(timer)', false],
    ['process.exit and process.exitCode', 'process.exitCode = 1', true],
    ['an error told apart by its text', "if (error.message.includes('x'))", true],
  ])('the ban on %s looks at `%s` and says %s', (call, line, isBanned) => {
    const ban = BANS.find((one) => one.call === call);
    expect(ban?.pattern.test(codeOnly(line))).toBe(isBanned);
  });
});

test("the words are the field's own (design, words): no told, mend or vault", () => {
  const own = sourcesIn(['src', 'pipelines']).flatMap(({ file, text }) => {
    const found = /\b(?:told|mend|vault)\b/i.exec(text);
    return found ? [`${file}: ${found[0]}`] : [];
  });
  expect(own).toEqual([]);
});
