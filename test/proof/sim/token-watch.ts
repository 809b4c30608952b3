/**
 * Looks at the token of every call at the moment at which the program sends it. The service would judge it later: a pause of other work
 * may pass in the simulated time while the call is on its way.
 */
import { subscribe } from 'node:diagnostics_channel';
import { z } from 'zod';
import type { ClockFile } from './clock.ts';

const JWT = /\bBearer [\w-]+\.([\w-]+)\./;
const claimsShape = z.object({ exp: z.number() });

export class TokenWatch {
  private clock: ClockFile | null = null;
  private expired = 0;

  constructor() {
    subscribe('undici:request:create', (message) => this.look((message as { request: { headers: unknown } }).request));
  }

  /** By this time from now on, or no more; returns how many expired tokens were sent since the last time. */
  watch(clock: ClockFile | null): number {
    this.clock = clock;
    const { expired } = this;
    this.expired = 0;
    return expired;
  }

  private look({ headers }: { readonly headers: unknown }): void {
    const [, claims] = JWT.exec(String(headers)) ?? [];
    if (claims === undefined || this.clock === null) return;
    const { exp } = claimsShape.parse(JSON.parse(Buffer.from(claims, 'base64url').toString()));
    if (this.clock.now() > exp * 1000) this.expired += 1;
  }
}
