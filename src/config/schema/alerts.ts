/** What the settings files may say about alerts. */
import { z } from 'zod';
import { isNamed, type Pipeline } from '../../core/pipeline.ts';
import { line, matching, whole, yesOrNo } from '../../core/settings.ts';

const ADDRESS_ERROR = 'a mail address such as me@example.com';
const address = () => matching(/^[^\s<>@,;"]+@[^\s<>@,;"]+$/, ADDRESS_ERROR);

const freshness = (named: readonly string[]) =>
  z
    .array(
      z.strictObject({
        pipeline: z.enum(named, { error: `one of ${named.join(', ')}` }),
        hours: whole(1, 8760, 'hours'),
      }),
      {
        error: 'a list of pipelines, each with hours',
      },
    )
    .refine((all) => isOnce(all.map(({ pipeline }) => pipeline)), { error: 'a list that names every pipeline once' });

const webhooks = () =>
  z
    .array(
      z.strictObject({
        name: matching(/^[a-z][a-z0-9-]*$/, 'a name of small letters, digits and "-"'),
        kind: z.enum(['generic', 'slack'], { error: 'one of generic and slack' }),
      }),
      { error: 'a list of webhooks, each with name and kind' },
    )
    .max(10, { error: 'a list of ten webhooks at the most' })
    .refine((all) => isOnce(all.map(({ name }) => name)), { error: 'a list that names every webhook once' });

const mail = () =>
  z
    .strictObject({
      host: matching(/^[A-Za-z0-9.:-]+$/, 'the name or address of a mail server, or null').nullable(),
      port: whole(1, 65_535, 'port'),
      secure: yesOrNo(),
      user: line('the name of a user, or null').nullable(),
      from: address().nullable(),
      to: z.array(address(), { error: 'a list of mail addresses' }).max(50, { error: '50 mail addresses at the most' }),
    })
    .refine(({ host, from, to }) => host === null || (from !== null && to.length > 0), {
      error: 'a host together with `from` and at least one address in `to`',
    });

export function alertsSection(pipelines: readonly Pipeline[]) {
  return z.strictObject({
    title: line('a name of this installation, on one line'),
    causes: z.strictObject({
      runFailed: yesOrNo(),
      sliceHeld: yesOrNo(),
      freshnessBreached: yesOrNo(),
      driftSeen: yesOrNo(),
      refused: yesOrNo(),
      pushMissing: yesOrNo(),
    }),
    remindHours: whole(1, 8760, 'hours'),
    freshness: freshness(pipelines.filter(isNamed).map(({ name }) => name)),
    pushDays: whole(1, 3650, 'days'),
    webhooks: webhooks(),
    mail: mail(),
  });
}

function isOnce(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}
