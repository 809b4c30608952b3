import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AlertSettings } from '../../../src/config/alerts.ts';
import { type Channel, channelsOf } from '../../../src/run/alerts/channels.ts';
import { type AlertMessage, messageOf } from '../../../src/run/alerts/message.ts';
import type { KnownCause } from '../../../src/run/alerts/sent.ts';
import { type MailServer, openMailServer, openWebhook, type Webhook } from '../../support/alerts.ts';
import { FakeClock } from '../../support/clock.ts';

const AT = '2026-03-20T05:31:00.000Z';
const known = (day: string): KnownCause => ({
  cause: {
    key: `held/orders/${day}`,
    kind: 'slice_held',
    what: `orders ${day} is held: 3 < 60 & "more"`,
    since: AT,
    means: 'the warehouse keeps what it had',
    look: `partner-etl explain orders ${day}`,
    fix: `if it is right: partner-etl release orders ${day}`,
  },
  gone_at: null,
  returned: 0,
  sent: {},
  quiet_until: {},
});
const newsOf = (begun: readonly KnownCause[]) =>
  messageOf('shop', { begun, lasting: [], resolved: [] }, Date.parse(AT));
const message: AlertMessage = newsOf([known('2026-03-01'), known('2026-03-02')]);

const clock = new FakeClock(Date.parse(AT));
let hook: Webhook;
let mail: MailServer;
beforeEach(async () => {
  hook = await openWebhook();
  mail = await openMailServer();
});
afterEach(async () => {
  await hook.close();
  await mail.close();
});

const settings = (changed: Partial<AlertSettings>) =>
  ({ webhooks: [], mail: null, ...changed }) as unknown as AlertSettings;
const only = (changed: Partial<AlertSettings>): Channel => channelsOf(settings(changed), clock)[0]!;
const webhook = (kind: 'generic' | 'slack', url: string | null = hook.url) =>
  settings({ webhooks: [{ name: 'default', kind, variable: 'PARTNER_ETL_ALERT_URL', url }] });
const mailing = (user: string | null = null) => ({
  mail: {
    ...{ host: '127.0.0.1', port: mail.port, secure: false, user, password: 'smtp-secret' },
    ...{ from: 'etl@example.com', to: ['me@example.com', 'you@example.com'] },
  },
});

describe('a webhook', () => {
  it('is off where its address is not set', () => {
    expect(channelsOf(webhook('generic', null), clock)).toEqual([]);
  });

  it('of the generic kind gets one document about all causes', async () => {
    expect(await only(webhook('generic')).send(message)).toBe('answered 200');
    expect(hook.bodies.map((body) => JSON.parse(body))).toMatchObject([
      { version: 1, title: 'shop', status: 'firing', sent_at: AT, causes: [{ state: 'new' }, { state: 'new' }] },
    ]);
  });

  it('of Slack gets text in which nothing of ours is markup, and commands as code', async () => {
    await only(webhook('slack')).send(message);
    const { text, ...rest } = JSON.parse(hook.bodies[0]!) as { text: string };
    expect(rest).toEqual({});
    expect(text.split('\n').slice(0, 6)).toEqual([
      '*[shop] 2 slice held*',
      'New',
      '- orders 2026-03-01 is held: 3 &lt; 60 &amp; "more" (since 2026-03-20 05:31 UTC)',
      '  means: the warehouse keeps what it had',
      '  look: `partner-etl explain orders 2026-03-01`',
      '  fix: if it is right: `partner-etl release orders 2026-03-01`',
    ]);
  });

  it.each([
    [302, 'it answered 302'],
    [404, 'it answered 404'],
    [500, 'it answered 500'],
    [null, 'UND_ERR_SOCKET'],
  ])('that answers %s has not taken the message, and its address is not shown', async (status, why) => {
    hook.status = status;
    const error = await only(webhook('generic'))
      .send(message)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'alert_undelivered',
      message: `webhook default: the message was not taken: ${why}`,
    });
    expect((error as { hint: string }).hint).toContain('PARTNER_ETL_ALERT_URL');
    expect(hook.asked).toBe(1);
  });

  it('that never answers is given up', async () => {
    const silent = await openMailServer();
    const sending = only(webhook('generic', `http://127.0.0.1:${silent.port}/`))
      .send(message)
      .catch((thrown: unknown) => thrown);
    await clock.asleep((ms) => ms === 10_000);
    await clock.advance(10_000);
    expect(await sending).toMatchObject({ code: 'alert_undelivered' });
    await silent.close();
  });
});

describe('mail', () => {
  it('goes to everybody as one message, logged in where a user is named', async () => {
    expect(await only(mailing('etl')).send(message)).toBe('accepted for 2');
    expect(mail.said.filter((line) => line.startsWith('RCPT'))).toHaveLength(2);
    expect(mail.said.find((line) => line.startsWith('AUTH'))).toContain(
      Buffer.from('\0etl\0smtp-secret').toString('base64'),
    );
    const [text = ''] = mail.mails;
    expect(text).toContain('Subject: [shop] 2 slice held');
    expect(text).toContain('Auto-Submitted: auto-generated');
    expect(text).toContain('look: partner-etl explain orders 2026-03-01');
    expect(text).not.toContain('smtp-secret');
  });

  it('to a server that takes none has failed, and says by which code', async () => {
    mail.isOpen = false;
    await expect(only(mailing()).send(message)).rejects.toMatchObject({
      code: 'alert_undelivered',
      message: 'mail: the message was not taken: EENVELOPE 451',
    });
  });

  it('to nobody who listens has failed', async () => {
    const channel = only(mailing());
    await mail.close();
    await expect(channel.send(message)).rejects.toMatchObject({ code: 'alert_undelivered' });
  });
});

it('of a hundred causes ten are said and the rest is counted', () => {
  const days = Array.from({ length: 100 }, (_, i) => known(`day-${i}`));
  const { text, document } = newsOf(days);
  expect(document.causes).toHaveLength(10);
  expect(document.left_out).toBe(90);
  expect(text).toContain('and 90 more: partner-etl status lists them');
});
