/** A print of the credentials: tells whether they are still the same ones, without holding them. */
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Credentials } from './settings.ts';

export const printShape = z.object({ salt: z.string(), sha256: z.string() });
export type CredentialPrint = z.infer<typeof printShape>;

export function printOf(
  { clientId, clientSecret }: Credentials,
  salt = randomBytes(16).toString('hex'),
): CredentialPrint {
  // As JSON, since id and secret run together could be cut in two ways.
  const text = JSON.stringify([salt, clientId, clientSecret]);
  return { salt, sha256: createHash('sha256').update(text).digest('hex') };
}

export function isPrintOf(print: CredentialPrint, credentials: Credentials): boolean {
  return printOf(credentials, print.salt).sha256 === print.sha256;
}
