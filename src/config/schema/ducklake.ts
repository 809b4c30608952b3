/** What the settings files may say about a DuckLake. */
import { z } from 'zod';
import { whole } from '../../core/settings.ts';

const PLACE = 'a folder, or s3://bucket or s3://bucket/prefix';
const SCHEMA = 'a name of small letters, digits and _, beginning with a letter, at most 50 long';

export function ducklakeSection() {
  return z.strictObject({
    data: z
      .string()
      .refine((text) => (text.includes('://') ? /^s3:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/.test(text) : text.trim() !== ''), {
        error: PLACE,
      })
      .nullable(),
    schema: z.string({ error: SCHEMA }).regex(/^[a-z][a-z0-9_]{0,49}$/, { error: SCHEMA }),
    snapshotDays: whole(1, 36_500, 'days, or null').nullable(),
  });
}
