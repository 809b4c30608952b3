/** The program built as `npm run build` does it, into another folder. */
import { build } from 'rolldown';
import config from '../../rolldown.config.ts';

/** `root`: of the package. The program is `src/main.js` in `folder`. */
export async function bundleInto(folder: string, root: string): Promise<void> {
  await build({ ...config, cwd: root, output: { ...config.output, dir: `${folder}/src` } });
}
