/** Addresses of the service: https, except on this machine; nothing in them that belongs into a header or a secret. */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

export const SERVICE_ADDRESS =
  'an https address such as https://api.example.com (http only on this machine), without user, password, query or fragment';

export function isServiceAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || /[?#@\s]/.test(text)) return false;
  if (url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** The address without a slash at its end, so that a path can be joined to it. */
export function trimAddress(text: string): string {
  return text.replace(/\/+$/, '');
}

/** Whether the address is on this machine: a sandbox, and not the service with its limits. */
export function isHere(address: string): boolean {
  return URL.canParse(address) && isLoopback(new URL(address).hostname);
}

/** Whether what is sent to this Postgres may be read on its way: it is on another machine, and its address asks for no TLS. */
export function isSentInClear(address: string): boolean {
  const { hostname, searchParams } = new URL(address);
  // A folder is that of a socket.
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host === '' || host.startsWith('/') || isLoopback(host) || host === '::1') return false;
  return !['require', 'verify-ca', 'verify-full'].includes(searchParams.get('sslmode') ?? '');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

const ADDRESS_ERROR = 'an IP address or a range such as 10.0.0.0/8';

export const addresses = () => {
  const address = z.string({ error: ADDRESS_ERROR }).refine(isRange, { error: ADDRESS_ERROR });
  return z.array(address, { error: `a list of addresses or ranges, each ${ADDRESS_ERROR}` });
};

function isRange(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text);
}
