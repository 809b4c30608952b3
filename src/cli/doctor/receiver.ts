/** Whether push messages can reach the receiver: its certificate, and what stands between it and the service. */

import type { PushSettings } from '../../config.ts';
import { MS_PER_DAY } from '../../core/days.ts';
import { readCertificate } from '../../serve/receiver/certificate.ts';
import { isLoopback } from '../../serve/source-address.ts';
import { broken, type Finding, ok, skipped, warning } from './finding.ts';

/** A certificate that is renewed by itself is so well before. */
const SOON_DAYS = 14;

/** Asks and opens nothing but the files of the certificate. `nowMs`: epoch milliseconds. */
export async function checkReceiver(push: PushSettings, nowMs: number): Promise<Finding> {
  if (!push.enabled) return skipped('push.enabled is false');
  const { certFile, keyFile } = push.tls;
  const at = `${push.host}, port ${push.port}, path ${push.path}`;
  const isOpen = !isLoopback(push.host);
  if (isOpen && push.checkSource === 'never')
    return warning(`${at}: anybody may send`, 'set push.checkSource to auto; signatures are checked in any case');
  if (certFile !== null && keyFile !== null) {
    const { expiresAtMs } = await readCertificate({ certFile, keyFile });
    const until = `the certificate is valid until ${new Date(expiresAtMs).toISOString().slice(0, 10)}`;
    const days = (expiresAtMs - nowMs) / MS_PER_DAY;
    if (days <= 0) return broken(`${certFile} has expired: the service will not deliver`, 'renew the certificate');
    if (days < SOON_DAYS) return warning(`${at}; ${until}`, 'renew the certificate; serve takes the new one by itself');
    return ok(`https on ${at}; ${until}`);
  }
  if (isOpen && push.trustedProxies.length === 0)
    return warning(
      `plain http on ${at}: the service pushes to https only`,
      'set push.tls, or name the proxy that ends TLS in push.trustedProxies',
    );
  return ok(`plain http on ${at}: for a proxy that ends TLS`);
}
