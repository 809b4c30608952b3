/** The bucket's credentials, from the variables that every tool for S3 reads. */
import type { S3Access } from '../core/ducklake.ts';
import { type Environment, variable } from './environment.ts';
import type { Problem } from './problems.ts';

export function readS3(env: Environment): { readonly access: S3Access | null; readonly problems: readonly Problem[] } {
  const [keyId, secret] = [variable(env, 'AWS_ACCESS_KEY_ID'), variable(env, 'AWS_SECRET_ACCESS_KEY')];
  const endpoint = variable(env, 'AWS_ENDPOINT_URL_S3') ?? variable(env, 'AWS_ENDPOINT_URL');
  const problem = (key: string, accepted: string): Problem => ({ where: 'environment', key, accepted });
  if (keyId === null || secret === null)
    return {
      access: null,
      problems: [
        problem('AWS_ACCESS_KEY_ID', 'set it and AWS_SECRET_ACCESS_KEY: targets.ducklake.data is in a bucket'),
      ],
    };
  if (endpoint !== null && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : ''))
    return {
      access: null,
      problems: [problem('AWS_ENDPOINT_URL', 'an address such as https://s3.example.com is accepted')],
    };
  const region = variable(env, 'AWS_REGION') ?? variable(env, 'AWS_DEFAULT_REGION');
  return {
    access: { keyId, secret, sessionToken: variable(env, 'AWS_SESSION_TOKEN'), region, endpoint },
    problems: [],
  };
}
