/**
 * Where a message came from, and whether messages are taken from there.
 *
 * The connection's peer is the source, unless it is a proxy that the settings name: then it is the rightmost address in
 * X-Forwarded-For that is no such proxy. What stands further left was written by the sender, who may write what he likes, so it is
 * never read. From anybody else the header means nothing. An IPv4 address in an IPv6 coat (`::ffff:1.2.3.4`) is the IPv4 one.
 */
import ipaddr from 'ipaddr.js';
import type { PushSettings } from '../config.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

export interface Source {
  /** For records: of the proxy where the header says nothing that can be read. */
  readonly address: string;
  readonly isAllowed: boolean;
}

export type SourceSettings = Pick<
  PushSettings,
  'host' | 'sourceAddresses' | 'alsoFrom' | 'checkSource' | 'trustedProxies'
>;

/** Peers whose verdict is remembered; after so many it is all forgotten, so that many peers cannot fill the memory. */
const MOST_REMEMBERED = 1000;

export class SourceCheck {
  /** Whether messages from other addresses are refused. */
  readonly isChecked: boolean;
  private readonly allowed: readonly Range[];
  private readonly proxies: readonly Range[];
  private readonly remembered = new Map<string, Source>();

  constructor(settings: SourceSettings) {
    const { host, sourceAddresses, alsoFrom, checkSource, trustedProxies } = settings;
    // Behind a proxy everybody's messages come in over loopback.
    const isOpen = isLoopback(host) && trustedProxies.length === 0;
    this.isChecked = checkSource === 'always' || (checkSource === 'auto' && !isOpen);
    this.allowed = [...sourceAddresses, ...alsoFrom].map(rangeOf);
    this.proxies = trustedProxies.map(rangeOf);
  }

  /** `peer`: the connection's other end; `forwardedFor`: the header X-Forwarded-For, its lines joined by commas. */
  of(peer: string | undefined, forwardedFor: string | readonly string[] | undefined): Source {
    const address = parsed(peer ?? '');
    if (address === null) return this.unreadable(peer ?? '');
    if (forwardedFor === undefined || this.proxies.length === 0 || !isIn(address, this.proxies))
      return this.verdict(address);
    return this.behindProxy(address, typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(','));
  }

  /** Whether nothing that comes over a connection from there can be taken. */
  refusesPeer(peer: string | undefined): boolean {
    const address = parsed(peer ?? '');
    return this.isChecked && (address === null || !(isIn(address, this.allowed) || isIn(address, this.proxies)));
  }

  private behindProxy(proxy: Address, header: string): Source {
    let address = proxy;
    // From the right, as far as proxies wrote it; when only they stand there, the first of them is the sender.
    for (let end = header.length; end >= 0 && isIn(address, this.proxies); ) {
      const comma = end === 0 ? -1 : header.lastIndexOf(',', end - 1);
      const named = parsed(header.slice(comma + 1, end).trim());
      if (named === null) return this.unreadable(proxy.toString());
      address = named;
      end = comma;
    }
    return this.verdict(address);
  }

  private verdict(address: Address): Source {
    const text = address.toString();
    const known = this.remembered.get(text);
    if (known !== undefined) return known;
    const source = { address: text, isAllowed: !this.isChecked || isIn(address, this.allowed) };
    if (this.remembered.size >= MOST_REMEMBERED) this.remembered.clear();
    this.remembered.set(text, source);
    return source;
  }

  private unreadable(address: string): Source {
    return { address, isAllowed: !this.isChecked };
  }
}

/** Whether only this machine can reach what listens there. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || parsed(host)?.range() === 'loopback';
}

/** An IPv4 address, or the 64 bits of an IPv6 one that belong to one customer: he may use all the addresses behind them. */
export function networkOf(address: string): string {
  const found = parsed(address);
  if (found?.kind() !== 'ipv6') return found?.toString() ?? address;
  return (found as ipaddr.IPv6).parts.slice(0, 4).join(':');
}

/** Four decimal parts or IPv6, without a zone; null for anything else, such as `0x7f.1`, which some would take for an address. */
function parsed(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!ipaddr.IPv6.isValid(text)) return null;
  // Of a link-local peer Node names the interface, which is no part of the address.
  return ipaddr.process(text.replace(/%.*$/s, ''));
}

/** The settings were checked when they were read. */
function rangeOf(text: string): Range {
  const [address, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(ipaddr.parse(text));
  const isMapped = address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [(address as ipaddr.IPv6).toIPv4Address(), bits - 96] : [address, bits];
}

function wholeAddress(address: Address): Range {
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function isIn(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range as never, bits));
}
