/** Media types of the retailer API: `application/vnd.retailer.v{N}+json` to read, and on bodies that are sent. */
import { type Answer, type Call, problem, retailerVersion } from './call.ts';

/** 406 or 415 for a call whose media types the retailer API does not have; undefined when they fit. */
export function refusedMedia(call: Call, suffix: 'json' | 'csv' = 'json'): Answer | undefined {
  const { accept } = call.headers;
  if (retailerVersion(accept, suffix) === undefined)
    return problem(call, 406, 'Not Acceptable', `Accept "${accept ?? ''}" is not supported.`);
  if (call.body === '') return undefined;
  const sent = call.headers['content-type'];
  if (retailerVersion(sent) === undefined)
    return problem(call, 415, 'Unsupported Media Type', `Content-Type "${sent ?? ''}" is not supported.`);
  return undefined;
}
