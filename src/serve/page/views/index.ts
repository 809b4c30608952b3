/** The page as HTML. Everything that is shown is escaped here: the model holds texts as they came. */
export { type Asset, assets } from './assets.ts';
export { cellHtml } from './cell.ts';
export { loginHtml, problemHtml } from './login.ts';
export { pageHtml } from './page.ts';
