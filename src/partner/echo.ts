/**
 * Our own token in an answer. Every other secret stays on this side, but the token is sent along with each call, and a service that writes
 * what it was sent into its answers would have it stored: in the raw store, the lake, every warehouse and their backups.
 */
import { EtlError } from '../core/errors.ts';

/** Shorter ones could stand in an answer by chance. */
const SHORTEST_BYTES = 16;

/**
 * Looks through the decoded bytes of one answer as they pass, a chunk at a time. A token is made of characters that JSON writes as they
 * are, but for `/`, before which a backslash may stand. One of 700 bytes costs 40 ms in 500 MB.
 * Throws `failed/echoed_token`.
 */
export function echoWatch(secrets: readonly string[]): (decoded: Uint8Array) => void {
  const long = secrets.filter((secret) => secret.length >= SHORTEST_BYTES);
  const forms = new Set(long.flatMap((secret) => [secret, secret.replaceAll('/', '\\/')]));
  const needles = [...forms].map((form) => Buffer.from(form));
  const overlap = Math.max(0, ...needles.map(({ length }) => length - 1));
  let tail = Buffer.alloc(0);
  return (decoded) => {
    const bytes = Buffer.from(decoded.buffer, decoded.byteOffset, decoded.byteLength);
    const border = Buffer.concat([tail, bytes.subarray(0, overlap)]);
    if (needles.some((needle) => border.includes(needle) || bytes.includes(needle))) throw echoed();
    const end = bytes.length < overlap ? border : bytes;
    tail = Buffer.from(end.subarray(Math.max(0, end.length - overlap)));
  };
}

function echoed(): EtlError {
  return new EtlError(
    'failed',
    'echoed_token',
    'the answer holds the very token that it was asked with: nothing of it was stored',
    {
      hint: 'report it to the service, whose logs may hold tokens too; what was asked for is asked again by every run',
    },
  );
}
