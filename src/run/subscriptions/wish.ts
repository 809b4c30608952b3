/** What a subscription shall be, from what a person typed; refused before anything is sent where the service would refuse it. */
import { EtlError } from '../../core/errors.ts';
import type { Subscription } from '../../extract/subscription-shapes.ts';
import type { SubscriptionWish } from '../../partner/calls/subscriptions.ts';
import { commandLine } from './process-waiting.ts';

/** What can be subscribed to. */
export const RESOURCES = ['PROCESS_STATUS', 'SHIPMENT'] as const;
const ACCEPTED = `accepted are ${RESOURCES.join(' and ')}`;

/** What an update changes. `resources` stands for the whole list and goes with neither `add` nor `remove`. */
export interface WishChange {
  readonly url?: string;
  readonly resources?: readonly string[];
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
}

/** Characters of a wrong value that a message shows. */
const SHOWN_CHARACTERS = 200;

/** The address as typed. Errors: `usage/not_https`. */
export function checkedUrl(text: string): string {
  const url = text.trim();
  const isHttps = /^https:\/\/[^\s\p{Cc}]+$/iu.test(url) && URL.canParse(url);
  if (isHttps && new URL(url).password === '' && new URL(url).username === '') return url;
  if (isHttps)
    throw new EtlError('usage', 'not_https', 'an address with a user or a password in it cannot be subscribed', {
      hint: 'the receiver knows the service by its signature; nothing was sent',
    });
  throw new EtlError('usage', 'not_https', `${shown(text)} is no https address`, {
    hint: 'the service pushes to https only, such as https://etl.example.com/push; nothing was sent',
  });
}

/** The names without regard to case, each once; several may stand in a text, with commas between. Errors: `usage/bad_resource`. */
export function checkedResources(texts: readonly string[]): string[] {
  const names = texts.flatMap((text) => text.split(',')).map((name) => name.trim().toUpperCase());
  const given = [...new Set(names.filter((name) => name !== ''))];
  const bad = given.filter((name) => !(RESOURCES as readonly string[]).includes(name));
  if (bad.length === 0) return given;
  throw new EtlError('usage', 'bad_resource', `there is no resource ${bad.map(shown).join(' and no ')}`, {
    hint: `${ACCEPTED}; nothing was sent`,
  });
}

/** Errors: `usage/not_https`, `usage/bad_resource`, `usage/no_resources`. */
export function newWish(url: string, resources: readonly string[]): SubscriptionWish {
  const wish = { url: checkedUrl(url), resources: checkedResources(resources) };
  if (wish.resources.length > 0) return wish;
  throw new EtlError('usage', 'no_resources', 'no resource is named', { hint: `${ACCEPTED}; nothing was sent` });
}

/** Errors: `usage/not_https`, `usage/bad_resource`, `usage/contradiction`, `usage/no_change`. */
export function checkedChange(change: WishChange): WishChange {
  const { url, resources, add, remove } = change;
  if (url === undefined && resources === undefined && add === undefined && remove === undefined)
    throw new EtlError('usage', 'no_change', 'nothing is named that shall be changed', {
      hint: 'name --url, --resources, --add or --remove',
    });
  if (resources !== undefined && (add !== undefined || remove !== undefined))
    throw new EtlError(
      'usage',
      'contradiction',
      '--resources names the whole list, so nothing can be added or removed',
      {
        hint: 'take --resources alone, or --add and --remove',
      },
    );
  const checked = {
    ...(url === undefined ? {} : { url: checkedUrl(url) }),
    ...(resources === undefined ? {} : { resources: checkedResources(resources) }),
    ...(add === undefined ? {} : { add: checkedResources(add) }),
    ...(remove === undefined ? {} : { remove: checkedResources(remove) }),
  };
  const both = (checked.add ?? []).find((name) => checked.remove?.includes(name));
  if (both === undefined) return checked;
  throw new EtlError('usage', 'contradiction', `${both} is to be added and removed`, { hint: 'name it once' });
}

/**
 * The subscription as it shall be, with the full list; null when it is so already. Errors: `usage/no_resources` for an empty
 * list, `failed/no_url` when the service gave no address and none is named.
 */
export function changedWish(current: Subscription, change: WishChange): SubscriptionWish | null {
  const { add = [], remove = [] } = change;
  const resources = change.resources ?? [...current.resources, ...add].filter((name) => !remove.includes(name));
  const wished = [...new Set(resources)];
  if (wished.length === 0)
    throw new EtlError('usage', 'no_resources', `subscription ${current.id} would be left without a resource`, {
      hint: `remove it instead: ${commandLine('delete', current.id)}; nothing was sent`,
    });
  const url = change.url ?? current.url;
  if (url === null)
    throw new EtlError('failed', 'no_url', `the service does not give the url of subscription ${current.id}`, {
      hint: 'name it with --url, since an update replaces the whole subscription; nothing was sent',
    });
  const isSame = url === current.url && sameNames(wished, current.resources);
  return isSame ? null : { url, resources: wished };
}

/** One subscription per address. Errors: `usage/url_taken`, naming the other one and how it is changed. */
export function refuseTakenUrl({ url, resources }: SubscriptionWish, others: readonly Subscription[]): void {
  const other = others.find((one) => one.url !== null && sameAddress(one.url, url));
  if (!other) return;
  const missing = resources.filter((name) => !other.resources.includes(name));
  const command = commandLine('update', other.id, '--add', missing.join(','));
  throw new EtlError('usage', 'url_taken', `${shown(url)} has a subscription already: ${other.id}`, {
    hint:
      missing.length === 0
        ? `it asks for ${other.resources.join(', ')} already; nothing was sent`
        : `a url can have one only, so change that: ${command}; nothing was sent`,
  });
}

/** Whether both lead to the same place, however host and port are spelled. */
function sameAddress(a: string, b: string): boolean {
  return a === b || (URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  const [one, other] = [new Set(a), new Set(b)];
  return one.size === other.size && [...one].every((name) => other.has(name));
}

function shown(text: string): string {
  return JSON.stringify(text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`);
}
