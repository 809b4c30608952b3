/** What the settings files may say about how long things are kept. */
import { z } from 'zod';
import { whole } from '../../core/settings.ts';

const days = (error = 'a whole number of days from 1 to 36500, or null') =>
  z.int({ error }).min(1, { error }).max(36_500, { error }).nullable();

export function retentionSection() {
  return z.strictObject({
    rawDays: days(),
    rawMiB: whole(1, 1_073_741_824, 'MiB').nullable(),
    refusedDays: days(),
    runsDays: days(),
  });
}
