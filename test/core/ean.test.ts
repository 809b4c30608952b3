import { describe, expect, test } from 'vitest';
import { eanProblem, isEan } from '../../src/core/ean.ts';

describe('an EAN', () => {
  test.each(['8712626055143', '0604020064587', '8804269223123', '0000000000000'])('%s is one', (text) => {
    expect([isEan(text), eanProblem(text)]).toEqual([true, null]);
  });

  test.each([
    ['', 'is empty'],
    ['8712626055144', 'has the check digit 4, which should be 3'],
    ['871262605514', 'has 12 digits, not 13'],
    ['5', 'has 1 digit, not 13'],
    ['87126260551433', 'has 14 digits, not 13'],
    ['871262605514X', 'has other characters than digits'],
    ['8712626055143 ', 'has other characters than digits'],
    ['8712626055143\n', 'has other characters than digits'],
    ['٨٧١٢٦٢٦٠٥٥١٤٣', 'has other characters than digits'],
    ['-712626055143', 'has other characters than digits'],
  ])('%j %s', (text, problem) => {
    expect([isEan(text), eanProblem(text)]).toEqual([false, problem]);
  });
});
