/** What `npm run build` makes, of the program into another folder, and of other things that are started often. */
import path from 'node:path';
import { build, type Plugin } from 'rolldown';
import config from '../../rolldown.config.ts';

/** `root`: of the package. The program is `src/main.js` in `folder`. */
export async function bundleInto(folder: string, root: string): Promise<void> {
  await build({ ...config, cwd: root, output: { ...config.output, dir: path.join(folder, 'src') } });
}

/** A compiled file as one that starts as fast as the program; returns its path, in `folder`. `plugin`: what is to be changed on the way. */
export async function bundleOf(file: string, folder: string, plugin?: Plugin): Promise<string> {
  const output = { ...config.output, dir: folder, sourcemap: false };
  await build({ ...config, input: file, output, plugins: [plugin] });
  return path.join(folder, path.basename(file));
}
