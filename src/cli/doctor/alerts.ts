/** Where alerts would go, and with --alert what comes back when a test goes there. */
import type { AlertSettings } from '../../config/alerts.ts';
import type { Clock } from '../../core/clock.ts';
import { channelsOf } from '../../run/alerts/channels.ts';
import { testMessage } from '../../run/alerts/message.ts';
import { guarded, type NamedFinding, ok, skipped, warning } from './finding.ts';

const SET_UP = 'set PARTNER_ETL_ALERT_URL, PARTNER_ETL_ALERT_SLACK_URL or alerts.mail';

/** One finding for each channel; one where there is none. `isTest`: a message is sent through each. */
export async function checkAlerts(settings: AlertSettings, clock: Clock, isTest: boolean): Promise<NamedFinding[]> {
  const channels = channelsOf(settings, clock);
  if (channels.length === 0) {
    const detail = 'nobody hears when something goes wrong: no channel is set up';
    return [{ check: 'alerts', ...(isTest ? warning(detail, SET_UP) : skipped(`${detail} (${SET_UP})`)) }];
  }
  if (!isTest) {
    const names = channels.map(({ name }) => name).join(', ');
    return [{ check: 'alerts', ...ok(`${names}; --alert sends a test`) }];
  }
  const message = testMessage(settings.title, clock.now());
  const findings: NamedFinding[] = [];
  for (const channel of channels) {
    const sent = await guarded(async () => ok(`a test was sent: ${await channel.send(message)}`));
    findings.push({ check: channel.name, ...sent });
  }
  return findings;
}
