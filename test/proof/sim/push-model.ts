/** Of push messages: whatever was answered 2xx is there exactly once, and nothing that was never sent. */
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Reader } from './warehouse-reader.ts';

export async function pushFlaws(reader: Reader, sandbox: Sandbox): Promise<string[]> {
  const rows = await reader.ask(
    `SELECT resource, type, resource_id, CAST(EXTRACT(EPOCH FROM "timestamp") AS VARCHAR) AS at, CAST(deliveries AS VARCHAR) AS deliveries,
       CAST(EXTRACT(EPOCH FROM first_delivered_at) AS VARCHAR) AS first,
       (SELECT CAST(count(*) AS VARCHAR) FROM warehouse.push_delivery AS d
        WHERE d.resource = m.resource AND d.type = m.type AND d.resource_id = m.resource_id AND d."timestamp" = m."timestamp") AS told
     FROM warehouse.fact_push_message AS m`,
  );
  const nameOf = (resource: string | null, type: string | null, id: string | null, ms: number) =>
    `${resource} ${type} ${id} ${ms}`;
  const held = new Map<string, { deliveries: number; told: number; firstMs: number }[]>();
  for (const row of rows) {
    const name = nameOf(row.resource ?? '', row.type ?? '', row.resource_id ?? '', Math.round(Number(row.at) * 1000));
    held.set(name, [
      ...(held.get(name) ?? []),
      { deliveries: Number(row.deliveries), told: Number(row.told), firstMs: Math.round(Number(row.first) * 1000) },
    ]);
  }
  const flaws: string[] = [];
  for (const { resource, type, resourceId, timestamp, accepted, firstAcceptedMs } of sandbox.pushTruth()) {
    const name = nameOf(resource, type, resourceId, Date.parse(timestamp));
    const there = held.get(name) ?? [];
    held.delete(name);
    if (there.length > 1) flaws.push(`push ${name} is there ${there.length} times`);
    const deliveries = there[0]?.deliveries ?? 0;
    if (deliveries < accepted) flaws.push(`push ${name} was accepted ${accepted} times, ${deliveries} are there`);
    if (there[0] && firstAcceptedMs !== null && there[0].firstMs > firstAcceptedMs)
      flaws.push(
        `push ${name} is said to have come first at ${there[0].firstMs}, and was accepted at ${firstAcceptedMs}`,
      );
    if (there[0] && there[0].told !== deliveries)
      flaws.push(`push ${name}: ${deliveries} deliveries, ${there[0].told} of them told`);
  }
  // The service had time to try it again after its keys could be asked for.
  for (const { id, state, attempts } of sandbox.pushes())
    if (state === 'dropped' && attempts.at(-1)?.status === 401)
      flaws.push(`push ${id} was refused to the end as a forgery`);
  for (const name of held.keys()) flaws.push(`push ${name} was never sent`);
  return flaws;
}
