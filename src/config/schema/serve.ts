/** What the settings files may say about `serve` besides the receiver. */
import { z } from 'zod';
import { matching, whole, yesOrNo } from '../../core/settings.ts';
import { addresses } from '../address.ts';

export function serveSection() {
  return z.strictObject({
    schedule: yesOrNo(),
    runLimitMinutes: whole(1, 10_080, 'minutes'),
    host: matching(/^[A-Za-z0-9.:-]+$/, 'an address to listen on, such as 127.0.0.1 or 0.0.0.0'),
    port: whole(0, 65_535, 'port'),
    trustedProxies: addresses(),
  });
}
