/**
 * Push messages, made and signed as the service does it. They lie in a box that others may look into; whoever is to
 * deliver them over https (within 5 s, and again after 1, 2, 4 and 8 minutes) takes them from there.
 */
import { sign } from 'node:crypto';
import { dutchIso } from './dutch-time.ts';
import { type Json, jsonText } from './json-text.ts';
import type { RsaKey } from './keys.ts';

/** Key set that signs; a receiver finds it among the signature keys. */
const KEY_ID = '0';
const RETAILER_ID = 1234567;

export interface PushMessage {
  readonly subscriptionId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PushEvent {
  readonly resource: 'PROCESS_STATUS' | 'SHIPMENT';
  readonly type: string;
  readonly resourceId: string;
  /** Address of the resource to call next; the documented example has none. */
  readonly href?: string;
}

export interface PushTarget {
  readonly id: string;
  readonly url: string;
}

export class PushBox {
  readonly #key: RsaKey;
  readonly messages: PushMessage[] = [];

  constructor(key: RsaKey) {
    this.#key = key;
  }

  put({ id, url }: PushTarget, event: PushEvent, now: number): void {
    const { resource, type, resourceId, href } = event;
    const links = href === undefined ? undefined : [{ method: 'GET', href }];
    const told: Json = { resource, type, resourceId, metadata: links && [], links };
    const body = jsonText({ retailerId: RETAILER_ID, timestamp: dutchIso(now), event: told });
    const signature = sign('RSA-SHA256', Buffer.from(body), this.#key.privateKey).toString('base64');
    const headers = {
      'content-type': 'application/json',
      signature: `keyId=${KEY_ID}, algorithm="rsa-sha256", signature=${signature}`,
    };
    this.messages.push({ subscriptionId: id, url, headers, body });
  }

  /** Endpoint 11: Base64 of X.509 (SubjectPublicKeyInfo, DER). */
  keysJson(): Json {
    const publicKey = this.#key.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    return { signatureKeys: [{ id: KEY_ID, type: 'RSA', publicKey }] };
  }
}
