/** What is sent to a collector of spans with every request: usually a key, so each value is a secret. */

const NAMES = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];

/** `name=value` behind commas, percent-encoded; those for traces win. */
export function otlpHeaders(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const pairs = NAMES.flatMap((name) =>
    (env[name] ?? '').split(',').flatMap((pair) => {
      const at = pair.indexOf('=');
      return at < 1 ? [] : [[pair.slice(0, at).trim().toLowerCase(), decoded(pair.slice(at + 1).trim())] as const];
    }),
  );
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
