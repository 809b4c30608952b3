/** Kinds of values in the settings files. Every message is the end of "… is accepted". */
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
