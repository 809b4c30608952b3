import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dispositionName } from '../../src/partner/calls/file-name.ts';

const NAME = 'Verlaging_Bemiddelingsbijdrage_04052018_0005.csv';

describe('the name in Content-Disposition', () => {
  test.each<[string, string | null, string | null]>([
    ['unquoted', `attachment; filename=${NAME}`, NAME],
    ['quoted', `attachment; filename="${NAME}"`, NAME],
    ['with spaces round everything', ` attachment ;  filename =  "${NAME}"  `, NAME],
    ['in capital letters', `Attachment; FileName=${NAME}`, NAME],
    ['without a disposition', `filename=${NAME}`, NAME],
    ['unquoted with spaces inside', 'attachment; filename=my file.csv', 'my file.csv'],
    ['with escapes', 'attachment; filename="a\\"b\\\\c.csv"', 'a"b\\c.csv'],
    ['with a semicolon in quotes', 'attachment; filename="a;filename=b.csv"; size=3', 'a;filename=b.csv'],
    ['behind other parameters', `attachment; size=13; name="filename=x"; filename=${NAME}; x=y`, NAME],
    ['behind a stray quote', `attachment "x"; filename=${NAME}`, NAME],
    ['in a quote that is never closed', 'attachment; filename="a.csv; size=1', 'a.csv; size=1'],
    ['with something behind its quote', 'attachment; filename="a.csv"junk; size=1', 'a.csv'],
    ['that ends in a backslash', 'attachment; filename="a\\', '"a\\'],
    ['given twice: the first', 'attachment; filename=a.csv; filename=b.csv', 'a.csv'],
    ['extended, UTF-8', "attachment; filename*=UTF-8''%e2%82%ac%20rates.csv", '€ rates.csv'],
    ['extended with a language', "attachment; filename*=utf-8'en'rates.csv", 'rates.csv'],
    ['extended, ISO-8859-1', "attachment; filename*=iso-8859-1'de'%FCber.csv", 'über.csv'],
    ['extended wins, before', "attachment; filename*=UTF-8''a.csv; filename=b.csv", 'a.csv'],
    ['extended wins, after', "attachment; filename=b.csv; filename*=UTF-8''a.csv", 'a.csv'],
    ['extended in quotes', 'attachment; filename*="UTF-8\'\'a.csv"', 'a.csv'],
    ['of an unknown charset', "attachment; filename*=koi8-r''%C1.csv; filename=b.csv", 'b.csv'],
    ['that is no UTF-8', "attachment; filename*=UTF-8''%ff.csv; filename=b.csv", 'b.csv'],
    ['with half an escape', "attachment; filename*=UTF-8''%f.csv; filename=b.csv", 'b.csv'],
    ['extended, but empty', "attachment; filename*=UTF-8''; filename=b.csv", 'b.csv'],
    ['missing', 'attachment', null],
    ['empty', 'attachment; filename=', null],
    ['empty in quotes', 'attachment; filename=""', null],
    ['in no header', null, null],
    ['in an empty header', '', null],
    ['in garbage', ';;;=="";;', null],
  ])('%s', (_, header, name) => {
    expect(dispositionName(header)).toBe(name);
  });

  test.each<[string, string, string]>([
    ['a way upwards stays text', 'attachment; filename=../../etc/x', '../../etc/x'],
    ['an absolute path stays text', 'attachment; filename="/etc/passwd"', '/etc/passwd'],
    ['a NUL is removed', 'attachment; filename="a\0b.csv"', 'ab.csv'],
    ['a NUL in percent is removed', "attachment; filename*=UTF-8''a%00b%0d%0a.csv", 'ab.csv'],
    ['control characters are removed', 'attachment; filename="a\u0007\u001b[31m\u0085b\u2028.csv"', 'a[31mb.csv'],
    ['4,000 characters become 255', `attachment; filename=${'x'.repeat(4000)}`, 'x'.repeat(255)],
    ['characters outside the BMP are not cut in two', `attachment; filename=${'😀'.repeat(300)}`, '😀'.repeat(255)],
    ['a lone surrogate is replaced', 'attachment; filename=a\ud800b', 'a\ufffdb'],
  ])('%s', (_, header, name) => {
    expect(dispositionName(header)).toBe(name);
  });

  test('is fit to be recorded, whatever the header', () => {
    const piece = fc.constantFrom(
      ';',
      '=',
      '"',
      '\\',
      '%',
      "''",
      'filename',
      '*',
      'UTF-8',
      '%41',
      '\0',
      ' ',
      'é',
      '\n',
    );
    const header = fc.array(fc.oneof(piece, fc.string({ unit: 'binary' }))).map((parts) => parts.join(''));
    fc.assert(
      fc.property(header, fc.constantFrom('', 'attachment; filename='), (rest, before) => {
        const name = dispositionName(before + rest) ?? 'none';
        expect(name).toMatch(/^\P{Cc}{1,255}$/u);
        expect(name.isWellFormed()).toBe(true);
      }),
      { numRuns: 2000, seed: 4711 },
    );
  });
});
