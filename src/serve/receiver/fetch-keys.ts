/** Asks the service for the keys that it signs push messages with. The answer is kept nowhere but in the cache of the keys. */
import { pushMessages } from '../../../pipelines/push-messages.ts';
import { newId } from '../../core/ids.ts';
import { smallAnswer } from '../../extract/lookup-answer.ts';
import { parseSignatureKeys, type SignatureKey } from '../../extract/subscription-shapes.ts';
import type { Answer, Consumed } from '../../partner/call.ts';
import { signatureKeysCall } from '../../partner/calls/subscriptions.ts';
import type { RunContext } from '../../run/context.ts';
import { documentOf } from '../../sources/body.ts';

/** What the errors and log lines of the call are about. */
const ABOUT = pushMessages.name;

/** Errors: `usage/no_credentials`, those of a call, and `failed/…` for an answer without keys; the reason of an aborted signal. */
export async function fetchSignatureKeys(
  context: Pick<RunContext, 'openClient' | 'clock'>,
  signal: AbortSignal,
): Promise<readonly SignatureKey[]> {
  const runId = newId('r', context.clock);
  const { client, settings } = await context.openClient('retailer', runId, async () => undefined);
  try {
    const { value } = await client.call(signatureKeysCall(settings, ABOUT, keysIn, signal));
    return value;
  } finally {
    await client.close();
  }
}

async function keysIn(answer: Answer): Promise<Consumed<readonly SignatureKey[]>> {
  const { decoded } = await smallAnswer(answer);
  const value = parseSignatureKeys(documentOf(decoded));
  return { value, bytesDecoded: decoded.length, sha256: null, rawPath: null, items: value.length };
}
