/**
 * The limit of a night: its answers fetched by undici alone over one connection, one after the other, and thrown away undecoded, in a
 * process of its own. Arguments: the addresses; the service as the environment of a run says it.
 */
import { request } from 'undici';

export interface Fetched {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** As they came over the wire. */
  readonly bytes: number;
}

const { PARTNER_AUTH_URL = '', PARTNER_CLIENT_ID = '', PARTNER_CLIENT_SECRET = '' } = process.env;
const started = performance.now();
const basic = Buffer.from(`${PARTNER_CLIENT_ID}:${PARTNER_CLIENT_SECRET}`).toString('base64');
const asked = await request(`${PARTNER_AUTH_URL}/token?grant_type=client_credentials`, {
  method: 'POST',
  headers: { authorization: `Basic ${basic}`, accept: 'application/json' },
});
const token = (await asked.body.json()) as { access_token: string };
let bytes = 0;
for (const url of process.argv.slice(2)) {
  const { statusCode, body } = await request(url, {
    headers: {
      authorization: `Bearer ${token.access_token}`,
      accept: 'application/json',
      'accept-encoding': 'gzip',
    },
  });
  if (statusCode !== 200) throw new Error(`${url} was answered ${statusCode}`);
  for await (const part of body) bytes += (part as Buffer).length;
}
const { user, system } = process.cpuUsage();
const fetched: Fetched = {
  wallMs: Math.round(performance.now() - started),
  cpuMs: Math.round((user + system) / 1000),
  bytes,
};
process.stdout.write(JSON.stringify(fetched));
