/**
 * What a declaration says of its settings: kinds of values, and sections made of them. Every message is the end of "… is
 * accepted", so that an error can name it.
 */
import { z } from 'zod';

export const whole = (least: number, most: number, unit: string) => {
  const error = `a whole number of ${unit} from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
};

export const ratio = () => {
  const error = 'a number from 0 to 1';
  return z.number({ error }).min(0, { error }).max(1, { error });
};

export const yesOrNo = () => z.boolean({ error: 'true or false' });

export const matching = (pattern: RegExp, error: string) => z.string({ error }).regex(pattern, { error });

/** A text on one line, with something in it. */
export const line = (error: string) => matching(/^(?=.*\S)\P{Cc}+$/u, error);

/** How a parameter of a query, or a member of a body, is called. */
export const parameter = () => matching(/^[A-Za-z][A-Za-z0-9._-]*$/, 'a name of letters, digits, ".", "_" and "-"');

export const mediaType = () =>
  matching(/^[A-Za-z0-9.+-]+\/(?:[A-Za-z0-9.+-]|\{version\})+$/, 'a media type such as application/json');

/** A path with exactly the given placeholder besides `{version}`, which may always stand there. */
export function callPath(placeholder?: 'ean' | 'id') {
  const needed = placeholder === undefined ? [] : [`{${placeholder}}`];
  const error = `a path that begins with "/"${needed.map((name) => `, holds ${name}`).join('')} and no other "{…}" than {version}`;
  return z.string({ error }).refine(
    (text) => {
      const found = (text.match(/\{[^}]*\}/g) ?? []).filter((name) => name !== '{version}');
      const plain = text.replaceAll(/\{[a-z]+\}/g, '');
      return /^\/[A-Za-z0-9._~/-]*$/.test(plain) && found.join() === needed.join();
    },
    { error },
  );
}

export const callBudget = () =>
  z.strictObject({
    calls: whole(1, 10_000, 'calls'),
    perSeconds: whole(1, 86_400, 'seconds'),
    concurrency: whole(1, 100, 'calls at once'),
  });

/** At most `calls` in any `perSeconds` seconds, of all processes together, and at most `concurrency` at once in each of them. */
export type EndpointBudget = z.infer<ReturnType<typeof callBudget>>;

/** A section of the settings: what may stand in it, and what holds when nothing is said. */
export interface Section<T = unknown> {
  readonly shape: z.ZodRawShape;
  readonly usual: T;
}

/** A call of the service, below `service.<area>`: where it is and how much of it is allowed. */
export interface CallSettings {
  readonly budget: EndpointBudget;
}

/** A call of a pipeline, with the name of its section below `service.<area>`; null: the pipeline's. */
export interface CallSection<T extends CallSettings = CallSettings> extends Section<T> {
  readonly name: string | null;
}
