/** Tokens of numbers against the rule of JSON; the splitter as a whole is a subject of test/proof/fuzz. */
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isNumber } from '../../src/json/literals.ts';
import { numberLiteral } from '../proof/fuzz/hostile.ts';

it('the splitter takes for a number what JSON takes for one', () => {
  const tokens = fc.oneof(fc.string({ unit: fc.constantFrom(...'0123456789+-.eE'), maxLength: 8 }), numberLiteral);
  fc.assert(
    fc.property(tokens, (token) => {
      const bytes = Buffer.from(token);
      expect(isNumber(bytes, 0, bytes.length)).toBe(/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(token));
    }),
    { numRuns: 2000 },
  );
});
