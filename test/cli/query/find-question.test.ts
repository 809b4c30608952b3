import { expect, test } from 'vitest';
import { candidates } from '../../../src/cli/query/find-question.ts';
import { readQuestions } from '../../../src/warehouse/dictionary/questions.ts';

const questions = await readQuestions('duckdb');
const found = (said: string) => candidates(questions, said).map(({ number }) => number);

test.each(questions)('question $number is found by its number, its file and itself', ({ number, slug, question }) => {
  expect([found(String(number)), found(slug), found(question)]).toEqual([[number], [number], [number]]);
});

test.each<[string, number[]]>([
  ['best sub ids', [6]],
  ['Sub-IDs', [6]],
  ['weekend', [19]],
  ['earn most', [5, 6, 20]],
  ['which products earn the most money', [20]],
  ['0', []],
  ['21', []],
  ['weather tomorrow', []],
  ['?', []],
])('%j means %j', (said, expected) => {
  expect(found(said)).toEqual(expected);
});
