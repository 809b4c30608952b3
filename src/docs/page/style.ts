/** The style of the page, for screens light and dark, and for paper. It names no file and no font that would be fetched. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --back: #ffffff; --front: #1b1f24; --soft: #5b6570; --line: #d5dae0; --panel: #f5f7f9; --link: #0a58b5;
  --badge: #e4eaf1; --warn-back: #fff6dd; --warn-line: #d9a400; --mark: #ffe28a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171b; --front: #e3e7ec; --soft: #9aa5b1; --line: #343b44; --panel: #1c2127; --link: #7db4ff;
    --badge: #2a323b; --warn-back: #2c2614; --warn-line: #a88400; --mark: #5c4a00;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--back); color: var(--front); font: 15px/1.5 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre, .type, .columns td:first-child, .diagram text, nav li { font-family: ui-monospace, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: 0.92em; background: var(--panel); padding: 0 0.2em; border-radius: 3px; }
.frame { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1rem; border-right: 1px solid var(--line); background: var(--panel); font-size: 13px; }
nav h2 { font-size: 13px; margin: 1rem 0 0.2rem; color: var(--soft); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { line-height: 1.55; overflow-wrap: anywhere; }
nav input { width: 100%; padding: 0.45rem 0.6rem; font: inherit; font-size: 14px; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 5px; }
nav output { display: block; min-height: 1.5em; color: var(--soft); }
main { padding: 1.5rem 2rem 6rem; max-width: 84rem; }
h1 { margin: 0 0 0.5rem; font-size: 1.7rem; }
h2 { margin: 2.5rem 0 0.5rem; font-size: 1.35rem; border-bottom: 1px solid var(--line); padding-bottom: 0.2rem; }
h3 { margin: 1.6rem 0 0.3rem; font-size: 1.05rem; }
h3 code, h3 a { background: none; }
section.thing, article { margin: 1.8rem 0; }
section.thing h3, article h3 { margin-top: 0; }
section.thing:target h3, tr:target { background: var(--mark); }
.about { margin: 0.2rem 0; }
.facts { margin: 0.2rem 0; color: var(--soft); font-size: 0.93em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 12px; }
th, td { padding: 0.3rem 0.7rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.columns td:first-child { white-space: nowrap; font-size: 13px; }
.columns td:nth-child(3) { width: 100%; min-width: 20rem; }
.type { white-space: nowrap; font-size: 12px; }
.type span { display: block; color: var(--soft); }
.source { color: var(--soft); font-size: 0.92em; }
.badge { background: var(--badge); border-radius: 3px; padding: 0 0.35em; font: 11px/1.6 system-ui, sans-serif; white-space: nowrap; }
.trap { background: var(--warn-back); border-left: 3px solid var(--warn-line); padding: 0.15rem 0.6rem; margin: 0.25rem 0; font-size: 0.94em; }
ul.traps { padding: 0; list-style: none; }
.diagram { max-width: 100%; height: auto; margin: 0.5rem 0; }
.diagram rect { fill: var(--panel); stroke: var(--soft); }
.diagram text { font-size: 12px; fill: var(--front); }
.diagram .title { font-weight: 600; fill: var(--link); }
.diagram .box path { stroke: var(--soft); }
.diagram .join path { fill: none; stroke: var(--soft); stroke-width: 1.3; }
.diagram .join:hover path { stroke: var(--link); stroke-width: 2.5; }
.diagram .join text { font-size: 11px; fill: var(--soft); stroke: var(--back); stroke-width: 3px; paint-order: stroke; }
.sql { position: relative; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 5px; padding: 0.7rem 1rem; overflow-x: auto; font-size: 13px; line-height: 1.45; }
.sql button { position: absolute; top: 0.4rem; right: 0.4rem; font: 12px system-ui, sans-serif; padding: 0.2rem 0.6rem; color: inherit; background: var(--badge); border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
.answer td.number { text-align: right; font-variant-numeric: tabular-nums; }
.answer td { white-space: nowrap; }
[hidden] { display: none !important; }
@media (max-width: 60rem) {
  .frame { display: block; }
  nav { position: static; height: auto; max-height: 50vh; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem; }
}
@media screen and (max-width: 40rem) {
  .columns, .columns tbody, .columns tr, .columns td { display: block; width: auto; border: 0; }
  .columns thead { display: none; }
  .columns tr { border-bottom: 1px solid var(--line); padding: 0.3rem 0; }
  .columns td { padding: 0.1rem 0; }
  .columns td:first-child { font-weight: 600; }
  .columns td:nth-child(3) { min-width: 0; }
  .type span { display: inline; margin-left: 0.8em; }
}
@media print {
  :root { --back: #fff; --front: #000; --soft: #444; --line: #bbb; --panel: #fff; --link: #000; --badge: #eee; --warn-back: #fff; --warn-line: #888; --mark: #fff; }
  body { font-size: 10pt; }
  .frame { display: block; }
  nav, .sql button { display: none; }
  main { max-width: none; padding: 0; }
  .wide, pre { overflow: visible; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .columns td:nth-child(3) { min-width: 0; }
  .columns td:first-child, .type { font-size: 8pt; }
  .answer td { white-space: normal; overflow-wrap: break-word; }
  tr, .trap, .diagram { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
`;
