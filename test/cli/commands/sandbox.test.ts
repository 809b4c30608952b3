import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { fakeContext, run } from '../surroundings.ts';

interface Printed {
  readonly seed: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs until something was printed, calls `meanwhile`, presses Ctrl-C and waits for the end. */
async function whileRunning(words: readonly string[], meanwhile: (text: string) => Promise<void>): Promise<number> {
  const fake = fakeContext();
  const printed = new Promise<string>((resolve) => {
    fake.stdout.write = resolve;
  });
  const ended = runProgram(['sandbox', '--port', '0', '--orders-per-day', '50', ...words], fake.context);
  await meanwhile(await Promise.race([printed, ended.then((code) => `ended with ${code}`)]));
  fake.interrupt.press('SIGINT');
  expect(fake.stderr.lines).toEqual(['closing the sandbox, press again to stop at once']);
  return ended;
}

describe('sandbox', () => {
  test('--json prints the settings; the service then answers with them, until Ctrl-C', async () => {
    let authUrl = '';
    const code = await whileRunning(['--json', '--seed', '3'], async (text) => {
      const { seed, environment } = JSON.parse(text) as Printed;
      expect(seed).toBe(3);
      authUrl = environment.PARTNER_AUTH_URL!;
      const pair = `${environment.PARTNER_CLIENT_ID}:${environment.PARTNER_CLIENT_SECRET}`;
      const answer = await fetch(`${authUrl}/token?grant_type=client_credentials`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}`, accept: 'application/json' },
      });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ token_type: 'Bearer' });
    });
    expect(code).toBe(0);
    await expect(fetch(authUrl)).rejects.toThrow();
  });

  test('without --json it prints lines to paste, with the pretended day', async () => {
    const code = await whileRunning(['--today', '2026-03-01'], async (text) => {
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      expect(lines).toEqual([
        expect.stringMatching(/^export PARTNER_BASE_URL=http:\/\/127\.0\.0\.1:\d+/),
        expect.stringMatching(/^export PARTNER_AUTH_URL=http:\/\/127\.0\.0\.1:\d+/),
        expect.stringMatching(/^export PARTNER_CLIENT_ID=\S+$/),
        expect.stringMatching(/^export PARTNER_CLIENT_SECRET=\S+$/),
        'export PARTNER_ETL_HOME=./data/sandbox',
        'export PARTNER_ETL_TODAY=2026-03-01',
      ]);
    });
    expect(code).toBe(0);
  });

  test('--receiver takes every push, whatever url it is meant for, as soon as there is one', async () => {
    let arrive: (message: string) => void = () => {};
    const arrived = new Promise<string>((resolve) => {
      arrive = resolve;
    });
    const receiver = createServer(async (request, response) => {
      const body = await text(request);
      response.writeHead(204).end();
      arrive(`${request.method} ${request.url} ${request.headers.host} ${body}`);
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      receiver.close();
      receiver.closeAllConnections();
    });
    const { port } = receiver.address() as AddressInfo;
    await whileRunning(['--json', '--receiver', `http://127.0.0.1:${port}/in`], async (printed) => {
      const { environment } = JSON.parse(printed) as Printed;
      const pair = `${environment.PARTNER_CLIENT_ID}:${environment.PARTNER_CLIENT_SECRET}`;
      const basic = `Basic ${Buffer.from(pair).toString('base64')}`;
      const token = await fetch(`${environment.PARTNER_AUTH_URL}/token?grant_type=client_credentials`, {
        method: 'POST',
        headers: { authorization: basic, accept: 'application/json' },
      });
      const { access_token: bearer } = (await token.json()) as { access_token: string };
      const media = 'application/vnd.retailer.v10+json';
      const post = (path: string, value: unknown) =>
        fetch(`${environment.PARTNER_BASE_URL}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${bearer}`, accept: media, 'content-type': media },
          body: JSON.stringify(value),
        });
      const wish = { resources: ['SHIPMENT'], url: 'https://shop.example/hook' };
      expect((await post('/retailer/subscriptions', wish)).status).toBe(202);
      const inFuture = { now: '2026-03-01T09:00:00Z' };
      expect((await post('/sandbox/clock', inFuture)).status).toBe(204);
      expect((await post('/sandbox/changes', { kind: 'shipment', shipmentId: 'A1' })).status).toBe(204);
      expect(await arrived).toMatch(/^POST \/in shop\.example .*"resourceId":"A1"/);
    });
  });

  test('--receiver is refused beyond this machine', async () => {
    const { code, stderr } = await run(['sandbox', '--port', '0', '--receiver', 'http://example.org/push']);
    expect(code).toBe(2);
    expect(stderr.text).toContain('http://example.org/push');
  });
});
