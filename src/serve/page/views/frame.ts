/** What every page has around it. It loads nothing but what lies under /assets, and holds no script or style of its own. */
import { html, type Markup } from '../../../core/markup.ts';
import { assetPath } from './assets.ts';

interface FrameParts {
  readonly title: string;
  /** At the right of the header. */
  readonly aside?: Markup | null;
  /** Between header and main part. */
  readonly before?: Markup | null;
  readonly body: Markup;
  /** Whether the page goes on to change once it is there. */
  readonly isAlive?: boolean;
  /** Of what the page shows, for the script. */
  readonly version?: string;
}

export function frame({ title, aside = null, before = null, body, isAlive = false, version }: FrameParts): string {
  const scripts = html`<link rel="stylesheet" href="${assetPath('uplot.css')}">
<script type="module" src="${assetPath('page.js')}"></script>
`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetPath('page.css')}">
<link rel="stylesheet" href="${assetPath('calendar.css')}">
<link rel="stylesheet" href="${assetPath('sections.css')}">
${isAlive ? scripts : null}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><a class="brand" href="/">partner-etl</a>${aside}</header>
${before}<main id="main" tabindex="-1"${version === undefined ? null : html` data-version="${version}"`}>
${body}</main>
</body>
</html>
`.text;
}
