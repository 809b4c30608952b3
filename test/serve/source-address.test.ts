import { describe, expect, test } from 'vitest';
import { isLoopback, SourceCheck, type SourceSettings } from '../../src/serve/source-address.ts';

const OPEN_HOST: SourceSettings = {
  host: '0.0.0.0',
  sourceAddresses: ['35.204.195.116', '34.90.203.104'],
  alsoFrom: ['192.0.2.0/24', '2001:db8::/32'],
  checkSource: 'auto',
  trustedProxies: [],
};
const PROXIES = { ...OPEN_HOST, trustedProxies: ['10.0.0.0/8', 'fd00::1'] };

describe('where a message may come from', () => {
  test.each([
    ['35.204.195.116', true],
    ['::ffff:35.204.195.116', true],
    ['::ffff:23cc:c374', true],
    ['35.204.195.117', false],
    ['192.0.2.255', true],
    ['192.0.3.0', false],
    ['2001:db8:1::5', true],
    ['2001:db9::5', false],
    ['127.0.0.1', false],
    ['', false],
    ['0x23.204.195.116', false],
    ['35.204.195.0116', false],
  ])('%s: %s', (peer, isAllowed) => {
    expect(new SourceCheck(OPEN_HOST).of(peer, undefined).isAllowed).toBe(isAllowed);
  });

  test('the settings may write an IPv4 address or range as an IPv6 one', () => {
    const check = new SourceCheck({ ...OPEN_HOST, alsoFrom: ['::ffff:1.2.3.4', '::ffff:5.6.0.0/112'] });
    expect(['1.2.3.4', '5.6.7.8', '5.7.0.0'].map((peer) => check.of(peer, undefined).isAllowed)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('a connection that is gone already has no address, and is refused', () => {
    expect(new SourceCheck(OPEN_HOST).of(undefined, undefined)).toEqual({ address: '', isAllowed: false });
  });

  test('verdicts stay right when more peers come than are remembered', () => {
    const check = new SourceCheck(OPEN_HOST);
    const verdicts = Array.from({ length: 3000 }, (_, i) => check.of(`9.9.${i >> 8}.${i & 255}`, undefined).isAllowed);
    expect(verdicts).not.toContain(true);
    expect(check.of('35.204.195.116', undefined).isAllowed).toBe(true);
  });
});

describe('whether it is checked', () => {
  test.each<[string, Partial<SourceSettings>, boolean]>([
    ['on an address that others reach', {}, true],
    ['on loopback', { host: '127.0.0.1' }, false],
    ['on loopback behind a proxy', { host: '127.0.0.1', trustedProxies: ['127.0.0.1'] }, true],
    ['always, on loopback', { host: 'localhost', checkSource: 'always' }, true],
    ['never, on any', { checkSource: 'never' }, false],
    ['never, behind a proxy', { checkSource: 'never', trustedProxies: ['10.0.0.1'] }, false],
  ])('%s: %3$s', (_, settings, isChecked) => {
    const check = new SourceCheck({ ...OPEN_HOST, ...settings });
    expect(check.isChecked).toBe(isChecked);
    expect(check.of('9.9.9.9', undefined)).toEqual({ address: '9.9.9.9', isAllowed: !isChecked });
    expect(check.refusesPeer('9.9.9.9')).toBe(isChecked);
  });

  test.each([
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['push.example', false],
  ])('only this machine reaches %s: %s', (host, isOnly) => {
    expect(isLoopback(host)).toBe(isOnly);
  });
});

describe('X-Forwarded-For', () => {
  test.each<[string, string, string | undefined, string, boolean]>([
    ['from nobody trusted means nothing', '9.9.9.9', '35.204.195.116', '9.9.9.9', false],
    ['of a proxy names the sender', '10.0.0.1', '35.204.195.116', '35.204.195.116', true],
    ['of a proxy over IPv6, too', 'fd00::1', '35.204.195.116', '35.204.195.116', true],
    ['may pass several proxies', '10.0.0.1', '35.204.195.116, 10.9.9.9,10.8.8.8', '35.204.195.116', true],
    ['is read from the right', '10.0.0.1', '35.204.195.116, 9.9.9.9', '9.9.9.9', false],
    ['says what it likes on the left', '10.0.0.1', 'unknown, \u001b[2J, 35.204.195.116', '35.204.195.116', true],
    ['that is garbage on the right is refused', '10.0.0.1', '35.204.195.116, unknown', '10.0.0.1', false],
    ['that ends in a comma is refused', '10.0.0.1', '35.204.195.116,', '10.0.0.1', false],
    ['that begins with garbage before proxies is refused', '10.0.0.1', ',10.0.0.2', '10.0.0.1', false],
    ['that is empty is refused', '10.0.0.1', '', '10.0.0.1', false],
    ['with a port is refused', '10.0.0.1', '35.204.195.116:443', '10.0.0.1', false],
    ['that is missing leaves the proxy itself', '10.0.0.1', undefined, '10.0.0.1', false],
    ['of proxies alone names the first', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', false],
    ['may be mapped into IPv6', '::ffff:10.0.0.1', '::ffff:35.204.195.116', '35.204.195.116', true],
  ])('%s', (_, peer, header, address, isAllowed) => {
    expect(new SourceCheck(PROXIES).of(peer, header)).toEqual({ address, isAllowed });
  });

  test('in several lines is one list', () => {
    expect(new SourceCheck(PROXIES).of('10.0.0.1', ['9.9.9.9', '35.204.195.116']).isAllowed).toBe(true);
  });

  test('of 8,000 proxies is read to its end', () => {
    const header = `35.204.195.116,${'10.0.0.2,'.repeat(8000)}10.0.0.3`;
    expect(new SourceCheck(PROXIES).of('10.0.0.1', header).address).toBe('35.204.195.116');
  });

  test('a trusted proxy is no peer to refuse, and nobody is where nothing is checked', () => {
    const check = new SourceCheck(PROXIES);
    expect(['10.1.1.1', '35.204.195.116', '9.9.9.9', undefined].map((peer) => check.refusesPeer(peer))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});
