import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { isMap, isScalar, parseDocument } from 'yaml';
import { pipelines } from '../../pipelines/index.ts';
import { usualSettings } from '../../src/config/schema/pipelines.ts';
import { codeOnly, REPOSITORY, sourcesIn } from './sources.ts';

interface Key {
  /** As `pipelines.orders.enabled`. */
  readonly path: string;
  readonly name: string;
  readonly isLeaf: boolean;
  /** Comments above the key or behind its value, and those of every section round it. */
  readonly own: string;
  readonly around: string;
}

const text = readFileSync(path.join(REPOSITORY, 'config/default.yaml'), 'utf8');
const lines = text.split('\n');

/** The comment lines directly above a line (blank lines between them count as part), and the comment behind it. */
function commentsAt(line: number): string {
  const above: string[] = [];
  for (let i = line - 1; i >= 0 && /^\s*(?:#.*)?$/.test(lines[i]!); i--) above.unshift(lines[i]!);
  const behind = /\s#(.*)$/.exec(lines[line]!)?.[1] ?? '';
  return [...above, behind].join('\n');
}

function keysIn(node: unknown, at: readonly string[], around: string): Key[] {
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key, value }) => {
    if (!isScalar(key) || !key.range) return [];
    const name = String(key.value);
    const line = text.slice(0, key.range[0]).split('\n').length - 1;
    const own = commentsAt(line);
    const path = [...at, name].join('.');
    return [{ path, name, isLeaf: !isMap(value), own, around }, ...keysIn(value, [...at, name], `${around}\n${own}`)];
  });
}

const keys = keysIn(parseDocument(text).contents, [], '');
const leaves = keys.filter(({ isLeaf }) => isLeaf);

const code = sourcesIn(['src', 'pipelines'])
  .filter(({ file }) => !file.startsWith('src/config'))
  .map(({ text: source }) => codeOnly(source))
  .join('\n');
/** The places that take the settings apart. */
const taking = ['src/config.ts', 'src/config/partner.ts', 'src/config/targets.ts']
  .map((file) => codeOnly(readFileSync(path.join(REPOSITORY, file), 'utf8')))
  .join('\n');

/** Whether a property of that name is read: `.name`, or taken out of an object. Declarations and keys do not count. */
function isRead(name: string, source: string): boolean {
  return new RegExp(`\\.${name}\\b|\\{[^{}()]*\\b${name}\\b[^{}():;]*\\}\\s*(?:=|:|\\))`).test(source);
}

describe('config/default.yaml', () => {
  test('enough settings were seen for the rest to mean something', () => {
    expect(leaves.length).toBeGreaterThan(60);
  });

  test('every key is explained: by a comment of its own, or by name in one of a section round it', () => {
    const unexplained = keys.filter(({ name, own, around }) => {
      const ending = name.replace(/^.*(?=Parameter$)/, '…');
      return !own.includes('#') && own.trim() === '' && ![name, ending].some((word) => around.includes(word));
    });
    expect(unexplained.map(({ path }) => path)).toEqual([]);
  });

  test('every setting has an effect: something reads it, besides what checks it', () => {
    const unread = leaves.filter(({ name }) => !isRead(name, code) && !isRead(name, taking));
    expect(unread.map(({ path }) => path)).toEqual([]);
  });

  test('says of every pipeline and its call what the declaration says', () => {
    expect(parseDocument(text).toJS()).toMatchObject(usualSettings(pipelines));
  });

  test('says nothing of a secret', () => {
    expect(leaves.filter(({ name }) => /secret|password|clientId|apiKey/i.test(name))).toEqual([]);
  });

  test('the path of every one of the sixteen calls stands in it', () => {
    // Create, list, get, update and remove share the two paths of subscriptions.
    const paths = leaves
      .filter(({ path, name }) => path.startsWith('service.') && /^(?:path|itemPath)$/.test(name))
      .map(({ path }) => path);
    expect(paths).toEqual([
      'service.token.path',
      'service.reports.promotions.path',
      'service.reports.orders.path',
      'service.reports.commissions.path',
      'service.catalog.product.path',
      'service.retailer.subscriptions.path',
      'service.retailer.subscriptions.itemPath',
      'service.retailer.signatureKeys.path',
      'service.retailer.testPush.path',
      'service.retailer.processStatus.path',
      'service.retailer.commission.single.path',
      'service.retailer.commission.bulk.path',
      'service.retailer.reductions.path',
      'service.retailer.reductionsName.path',
    ]);
  });
});
