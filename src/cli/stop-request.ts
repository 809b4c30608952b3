/** Why a scheduled run is asked to stop, from what came through the channel to the `serve` that began it. */
import { EtlError } from '../core/errors.ts';
import { stopRequest } from '../serve/program-process.ts';

/** `message`: as received; anything that is no request means that `serve` is gone. */
export function stopReason(message: unknown): EtlError {
  const { success, data } = stopRequest.safeParse(message);
  if (!success)
    return new EtlError('failed', 'interrupted', 'the serve that began this run is gone', {
      hint: 'start it again: it goes on where it stopped',
    });
  const { code, message: text, hint } = data.stop;
  return new EtlError('failed', code, text, hint === '' ? {} : { hint });
}
