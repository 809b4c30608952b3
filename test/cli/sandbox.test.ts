import { describe, expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { fakeContext } from './surroundings.ts';

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
});
