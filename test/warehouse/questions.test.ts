import { describe, expect, test } from 'vitest';
import { parseQuestion, readQuestions } from '../../src/warehouse/dictionary/questions.ts';

const TEXT = `-- question: What did I earn?
-- reading: A row is a month.
-- why it is so is said here
-- reading: Open is not safe.

SELECT 1 AS a; -- no, this is behind the end
`;

describe('questions', () => {
  test('that ship are the same for both engines, numbered from 1 without a gap', async () => {
    const [duckdb, postgres] = [await readQuestions('duckdb'), await readQuestions('postgres')];
    expect(duckdb.length).toBeGreaterThan(0);
    expect(duckdb.map(({ number }) => number)).toEqual(duckdb.map((_, i) => i + 1));
    const said = (them: typeof duckdb) => them.map(({ sql: _, ...rest }) => rest);
    expect(said(duckdb)).toEqual(said(postgres));
  });

  test('have the question, how to read the answer, and the statement without its semicolon', () => {
    const sql = 'SELECT 1 AS a';
    expect(parseQuestion(1, 'earned', 'f', TEXT.replace(/;.*/, ';'))).toEqual({
      ...{ number: 1, slug: 'earned', question: 'What did I earn?' },
      reading: ['A row is a month.', 'Open is not safe.'],
      sql,
    });
  });

  test.each<[string, string]>([
    ['no question', TEXT.replace('question', 'quest')],
    ['two questions', `-- question: And?\n${TEXT}`],
    ['no reading', TEXT.replaceAll('reading', 'red')],
    ['no statement', TEXT.replace(/SELECT.*/, '')],
    ['nothing at all', ''],
  ])('are refused with %s, and the error names the file', (_, text) => {
    expect(() => parseQuestion(1, 'earned', '/somewhere/01_earned.sql', text)).toThrow(
      expect.objectContaining({ kind: 'bug', code: 'question', message: expect.stringContaining('01_earned.sql') }),
    );
  });
});
