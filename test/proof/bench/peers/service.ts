/** The sandbox of one race, in a process of its own, and what a client needs to call it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Day } from '../../../../src/core/days.ts';

export interface Service {
  /** What a program is told of it, as environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Orders something of the sandbox's own interface: `changes`, `faults`. */
  order(what: 'changes' | 'faults', body: object): Promise<void>;
  end(): void;
}

/** Items are about as many a day; the days are long past, so that its clock may be the machine's. */
export async function startService(itemsADay: number): Promise<Service> {
  const script = path.join(import.meta.dirname, '..', 'sandbox-child.js');
  const child: ChildProcess = fork(script, [String(itemsADay), String(Date.now())]);
  const [told] = (await once(child, 'message')) as [
    Record<'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret', string>,
  ];
  return {
    env: {
      PARTNER_BASE_URL: told.baseUrl,
      PARTNER_AUTH_URL: told.authUrl,
      PARTNER_CLIENT_ID: told.clientId,
      PARTNER_CLIENT_SECRET: told.clientSecret,
      PARTNER_ORDERS_URL: `${told.baseUrl}/marketing/affiliate/reports/v2/order-report`,
    },
    order: async (what, body) => {
      const answer = await fetch(`${told.baseUrl}/sandbox/${what}`, { method: 'POST', body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`the sandbox refused ${what}: ${await answer.text()}`);
    },
    end: () => child.disconnect(),
  };
}

type Env = Readonly<Record<string, string | undefined>>;

export async function askToken(env: Env): Promise<string> {
  const credentials = Buffer.from(`${env.PARTNER_CLIENT_ID}:${env.PARTNER_CLIENT_SECRET}`).toString('base64');
  const answer = await fetch(`${env.PARTNER_AUTH_URL}/token?grant_type=client_credentials`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, accept: 'application/json' },
  });
  if (!answer.ok) throw new Error(`token: status ${answer.status}`);
  const { access_token } = (await answer.json()) as { access_token: string };
  return access_token;
}

export async function askOrders(env: Env, token: string, from: Day, to: Day): Promise<Response> {
  const answer = await fetch(`${env.PARTNER_ORDERS_URL}?startDate=${from}&endDate=${to}`, {
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
  });
  if (!answer.ok) throw new Error(`orders from ${from} to ${to}: status ${answer.status}`);
  return answer;
}
