/** What the settings files may say about the receiver of push messages. */
import { z } from 'zod';
import { line, matching, whole, yesOrNo } from '../../core/settings.ts';
import { addresses } from '../address.ts';

const tls = () =>
  z
    .strictObject({
      certFile: line('the path of a PEM file, or null').nullable(),
      keyFile: line('the path of a PEM file, or null').nullable(),
    })
    .refine(({ certFile, keyFile }) => (certFile === null) === (keyFile === null), {
      error: 'both a certFile and a keyFile, or neither',
    });

export function pushSection() {
  return z.strictObject({
    enabled: yesOrNo(),
    host: matching(/^[A-Za-z0-9.:-]+$/, 'an address to listen on, such as 127.0.0.1 or 0.0.0.0'),
    port: whole(0, 65_535, 'port'),
    path: matching(/^\/[A-Za-z0-9._~/-]*$/, 'a path that begins with "/"'),
    tls: tls(),
    sourceAddresses: addresses(),
    alsoFrom: addresses(),
    checkSource: z.enum(['auto', 'always', 'never'], { error: 'one of auto, always and never' }),
    trustedProxies: addresses(),
    bodyKiB: whole(1, 1024, 'KiB'),
    oldestDays: whole(1, 36_500, 'days'),
    copiesKept: whole(1, 1_000_000, 'copies'),
    keyRefreshSeconds: whole(10, 86_400, 'seconds'),
    inboxMiB: whole(1, 1_048_576, 'MiB'),
    refusedMiB: whole(0, 65_536, 'MiB'),
  });
}
